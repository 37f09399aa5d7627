"""Streams: predictions, progress, passes, files that change or lie around."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from pyarrow.parquet import ParquetFile

from rankfair import RankFairRegressor, predict_parquet, save_model, stream
from rankfair.engines import base
from rows_elsewhere import BY, HUGE, LARGE, in_memory, sized, written

ALL = {**BY, "target": "y"}


def named(folder, sizes=LARGE, **more):
    return sized(stream(folder, **ALL, **more), **sizes)


def fitted(folder, sizes=LARGE, epsilon=0.02, **settings):
    return RankFairRegressor(epsilon, **settings).fit(named(folder, sizes))


def test_predictions_are_those_of_memory(tmp_path):
    frame = written(tmp_path / "rows", 6000)
    model = fitted(tmp_path / "rows")
    known = model.predict(frame.drop(columns="y"))
    for rows in (stream(tmp_path / "rows", **ALL), stream(tmp_path / "rows")):
        np.testing.assert_array_equal(model.predict(rows), known)
    out = predict_parquet(model, rows, tmp_path / "p" / "p.parquet", keep=["task", "y"])
    table = pq.read_table(out)
    assert table.column_names == ["task", "y", "prediction"]
    np.testing.assert_array_equal(table["prediction"].to_numpy(), known)
    assert [each.name for each in out.parent.iterdir()] == ["p.parquet"]


def test_progress_by_rows(tmp_path, capsys):
    written(tmp_path, 6000)
    told = []
    rows = named(tmp_path, on_rows=lambda *each: told.append(each))
    RankFairRegressor(0.02, verbose=1).fit(rows)
    assert {what for what, _, _ in told} >= {"labels", "reading", "predicting"}
    assert {total for _, _, total in told} == {6000}
    assert told[-1][1] == 6000
    assert "rows" not in capsys.readouterr().err
    fitted(tmp_path, verbose=1)
    lines = capsys.readouterr().err.splitlines()
    assert "[RankFairRegressor] labels: 3,000 of 6,000 rows" in lines
    assert "[RankFairRegressor] reading: 6,000 of 6,000 rows" in lines


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    written(tmp_path / "rows", 6000)
    fitted(tmp_path / "rows")
    assert not list((tmp_path / "temporary").iterdir())


def rewritten(path, how):
    """Change a file as somebody might who does not know that it is read."""
    before = path.stat()
    frame = pd.read_parquet(path)
    if how == "gone":
        path.unlink()
        return
    if how == "longer":
        frame = pd.concat([frame, frame])
    elif how == "another task":
        frame["task"] += " too"
    else:
        frame["y"] = -frame["y"]
    frame.to_parquet(path, index=False, compression="none")
    if how == "dated back":  # only the footer tells
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert path.stat().st_size == before.st_size


def changing(path, how, when, told):
    """Change a file after so many batches, two of each pass."""

    def change(*each):
        told.append(each)
        if len(told) == when:
            rewritten(path, how)

    return change


@pytest.mark.parametrize(
    ("how", "when"),
    [
        *(("dated back", when) for when in (1, 2, 3, 5, 6)),
        ("values", 2),
        ("longer", 3),
        ("gone", 6),
        ("another task", 1),  # it would lead to another error
    ],
)
def test_files_that_change_meanwhile(tmp_path, how, when):
    """Between two passes or within one."""
    written(tmp_path, 6000)
    for _ in range(2):  # to what it is uncompressed
        rewritten(tmp_path / "1.parquet", "values")
    change = changing(tmp_path / "1.parquet", how, when, [])
    model = RankFairRegressor(0.02)
    with pytest.raises(ValueError, match=r"1\.parquet was changed while its rows were"):
        model.fit(named(tmp_path, on_rows=change))
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("when", [1, 2])
def test_files_that_change_while_they_are_predicted(tmp_path, when):
    written(tmp_path / "rows", 6000)
    model = fitted(tmp_path / "rows")
    change = changing(tmp_path / "rows" / "0.parquet", "values", when, [])
    rows = stream(tmp_path / "rows", on_rows=change)
    with pytest.raises(ValueError, match=r"0\.parquet was changed while its rows were"):
        predict_parquet(model, rows, tmp_path / "p.parquet")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["rows"]


def test_a_change_before_a_fit_is_none(tmp_path):
    frame = written(tmp_path, 6000)
    rows = stream(tmp_path, **ALL)
    assert rows.n_rows == 6000
    frame.assign(more=1.0)[:3000].to_parquet(tmp_path / "0.parquet", index=False)
    with pytest.raises(ValueError, match=r'1\.parquet has no column "more", which'):
        RankFairRegressor(0.02).fit(rows)
    models = []
    for gone in ("x0", "x1"):
        for name in ("0", "1"):
            part = frame[3000:].drop(columns=gone)
            part.to_parquet(tmp_path / f"{name}.parquet", index=False)
        if not models:
            models.append(RankFairRegressor(0.02).fit(rows))
    (model,) = models
    assert "x0" not in model.feature_names_in_
    for predict in (model.predict, lambda rows: predict_parquet(model, rows, "p.pq")):
        with pytest.raises(ValueError, match='"x1" is no column of the files, but'):
            predict(rows)


def test_a_prediction_that_was_killed_is_not_read(tmp_path):
    """All is written but for the rename: the rows of the folder are what they were."""
    file, folder = tmp_path / "m.rankfair", tmp_path / "rows"
    frame = written(folder, 600, files=1)
    model = fitted(folder, {})
    save_model(model, file)
    code = (
        "import os, sys, time; from rankfair import load_model, predict_parquet; "
        "os.fsync = lambda _: (print('here', flush=True), time.sleep(600)); "
        "model, rows, out, *keep = sys.argv[1:]; "
        "predict_parquet(load_model(model), rows, out, name='y', keep=keep)"
    )
    paths = [file, folder / "0.parquet", folder / "p.parquet"]
    command = [sys.executable, "-c", code, *paths, *frame.columns.drop("y")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "here\n"
        process.kill()
    for given in (folder, folder / "**" / "*.parquet", tmp_path / "*" / "**" / "*"):
        assert stream(given).n_rows == 600
    predict_parquet(model, *paths[1:])
    there = (each.name for each in folder.iterdir())
    assert sorted(it for it in there if it[0] != ".") == ["0.parquet", "p.parquet"]


def test_links_that_lead_in_a_circle(tmp_path):
    """Links to folders are not followed, and what is hidden is not read."""
    rows = tmp_path / "rows"
    for folder in (rows, rows / "deep", rows / ".hidden", tmp_path / "more"):
        written(folder, 60)
    for link in "ab":  # two of them make as many paths as there are powers of two
        (rows / link).symlink_to(rows)
    (rows / "more").symlink_to(tmp_path / "more")
    assert stream(rows).n_rows == 120
    assert stream(f"{rows}/*.parquet").n_rows == 60
    assert stream(f"{rows}/**/*.parquet").n_rows == 120
    assert stream(f"{tmp_path}/r*/**/1.parquet").n_rows == 60
    assert stream([rows / ".hidden", f"{rows}/.hidden/*"]).n_rows == 60


def test_a_link_to_itself_is_named(tmp_path):
    written(tmp_path, 60)
    model = fitted(tmp_path, {}, epsilon=0.5)
    loop = tmp_path / "loop.parquet"
    loop.symlink_to(loop)
    for given in (tmp_path, loop):
        with pytest.raises(ValueError, match=r"loop\.parquet cannot be read as Parq"):
            stream(given)
    rows = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    with pytest.raises(OSError, match=r"symbolic links.*loop\.parquet"):
        predict_parquet(model, rows, loop)


def test_a_million_tasks_need_a_sentence(tmp_path, monkeypatch):
    frame = written(tmp_path, 600, 50, 3)
    words = r"50 tasks with 3 predictors, which need about .*; this machine has 0\.0 GB"
    monkeypatch.setattr(base, "memory_here", lambda: 20_000)
    with pytest.raises(ValueError, match=words):
        in_memory(frame.drop(columns="y"), frame["y"], **BY)
    told = []
    for sizes in ({}, LARGE):  # brought together, and left in the files
        rows = named(tmp_path, sizes, on_rows=lambda *each: told.append(each[0]))
        with pytest.raises(ValueError, match=words):
            RankFairRegressor(0.02).fit(rows)
    assert set(told) == {"labels"}  # no row was read for it
    monkeypatch.setattr(base, "memory_here", lambda: 55_000)
    fitted(tmp_path, {})
    cure = "50 tasks with 3 .*9 arrays of 3 × 3 .*Use fewer predictors, of which about"
    with pytest.raises(ValueError, match=cure):
        fitted(tmp_path, {}, penalty="feature")
    monkeypatch.setattr(base, "memory_here", lambda: None)
    fitted(tmp_path, {})


def test_the_memory_of_this_machine(monkeypatch, tmp_path):
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    places = tmp_path / "limit", tmp_path / "none"
    assert 1 << 28 < base.memory_here() <= whole
    for text, wanted in (("123456\n", 123456), ("max\n", whole)):
        places[0].write_text(text)
        assert base.memory_here(places) == wanted

    def unknown(name):
        raise ValueError(name)

    monkeypatch.setattr(os, "sysconf", unknown, raising=False)
    assert base.memory_here(places) is None


def test_many_more_tasks_than_rows_a_batch(tmp_path):
    frame = written(tmp_path, 9000, 1800)
    # Left out, five rows a task leave ridge no fit in the band, here as in memory.
    for settings in ({}, {"penalty": "ridge", "count": "train"}):
        rows = frame.drop(columns="y"), frame["y"]
        known = in_memory(*rows, epsilon=0.02, **settings, **BY)
        found = fitted(tmp_path, {**LARGE, "batch": 1}, **settings)
        assert found.status_ == known.status_ == "satisfied"
        scale = np.abs(known.coef_).max()
        np.testing.assert_allclose(found.coef_, known.coef_, atol=1e-6 * scale)


@pytest.mark.parametrize("count", ["loo", "train"])
def test_a_fit_reads_the_rows_three_times(tmp_path, monkeypatch, count):
    """However many counts there are, and whatever is far from all else."""
    frame = written(tmp_path, 6000)
    frame.loc[7, "x1"] = 1e5 * frame["x1"].std()
    frame[:3000].to_parquet(tmp_path / "0.parquet", index=False)
    told, opened = [], []
    read = ParquetFile.iter_batches

    def counted(self, *given, **more):
        opened.append(self)
        return read(self, *given, **more)

    monkeypatch.setattr(ParquetFile, "iter_batches", counted)
    rows = named(tmp_path, HUGE, on_rows=lambda *each: told.append(each))
    model = RankFairRegressor(0.02, count=count).fit(rows)
    assert model.status_ == "satisfied"
    passes = [what for what, done, _ in told if done == 6000]
    assert passes == ["labels", "reading", "predicting"]
    assert len(opened) == 3 * 2  # two files


@pytest.mark.parametrize("kind", ["plain", "an outlier", "groups take turns"])
def test_more_rows_than_are_looked_at(tmp_path, kind):
    """Bins are laid by some of the rows, and all are counted.

    Of rows that come in a pattern some, in steps, would be of one group.
    """
    frame = written(tmp_path, 600_000, 50, 3)
    if kind == "an outlier":
        frame.loc[7, "x1"] = 1e5 * frame["x1"].std()
    elif kind == "groups take turns":
        frame["turn"] = frame.groupby("group").cumcount()
        frame = frame.sort_values(["turn", "group"]).drop(columns="turn")
    for i, rows in enumerate(np.array_split(np.arange(600_000), 2)):
        frame.iloc[rows].to_parquet(tmp_path / f"{i}.parquet", index=False)
    known = in_memory(frame.drop(columns="y"), frame["y"], epsilon=0.02, **BY)
    found = fitted(tmp_path, {"exact_rows": 0})
    assert found.status_ == known.status_ == "satisfied"
    scale = np.abs(known.coef_).max()
    np.testing.assert_allclose(found.coef_, known.coef_, rtol=0, atol=1e-6 * scale)
    assert abs(found.loo_auc_ - known.loo_auc_) < 1e-6
    assert abs(found.rank_auc_ - known.rank_auc_) < 1e-6


@pytest.mark.parametrize("count", ["loo", "train"])
def test_rows_alike_are_warned_of(tmp_path, count):
    frame = written(tmp_path, 6000, 5, 3)
    names = ["x0", "x1", "x2"]
    few = frame.assign(**{name: frame[name] > 0 for name in names})
    for i, rows in enumerate(np.array_split(np.arange(len(few)), 2)):
        few.iloc[rows].to_parquet(tmp_path / f"{i}.parquet", index=False)
    if count == "train":
        fitted(tmp_path, count=count)
        return
    # Of 40 kinds of rows; pairs of A and B of one kind, counted one by one.
    words = r"100% of some of the rows have the task and the predictors of another"
    with pytest.warns(UserWarning, match=words) as said:
        fitted(tmp_path)
    in_a = few["group"] == "b"
    kinds = in_a.groupby([few[name] for name in (*names, "task")]).agg(["sum", "size"])
    pairs = (kinds["sum"] * (kinds["size"] - kinds["sum"])).sum()
    share = pairs / (in_a.sum() * (~in_a).sum())
    assert f"AUC by up to {share / 2:.2g}." in str(said[0].message)
