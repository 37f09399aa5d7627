"""Streams: predictions, progress, many tasks, files that are not read."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from pyarrow.parquet import ParquetFile
from rankfair.streams import predict_parquet

from rankfair import RankFairRegressor, save_model, stream

BY = {"tasks": "task", "sensitive_features": "group", "target": "y"}


def written(folder, n_rows=6000, n_tasks=5, files=2, seed=0):
    """Rows in some files, and all of them as a frame."""
    rng = np.random.default_rng(seed)
    group = rng.random(n_rows) < 0.4
    frame = pd.DataFrame(rng.standard_normal((n_rows, 3)), columns=["a", "b", "c"])
    frame["a"] += group
    frame["y"] = frame.sum(axis=1) + group + rng.standard_normal(n_rows)
    frame["task"] = rng.integers(0, n_tasks, n_rows)
    frame["group"] = group
    folder.mkdir(exist_ok=True)
    for i, rows in enumerate(np.array_split(np.arange(n_rows), files)):
        frame.iloc[rows].to_parquet(folder / f"{i}.parquet", index=False)
    return frame


@pytest.fixture
def large(monkeypatch):
    monkeypatch.setattr("rankfair.engines.chunked.FEW_ROWS", 1 << 10)


def test_predictions_are_those_of_memory(tmp_path):
    frame = written(tmp_path / "rows")
    rows = stream(tmp_path / "rows", **BY)
    model = RankFairRegressor(0.02).fit(rows)
    known = model.predict(frame.drop(columns="y"))
    np.testing.assert_array_equal(model.predict(rows), known)
    np.testing.assert_array_equal(model.predict(stream(tmp_path / "rows")), known)
    out = predict_parquet(model, rows, tmp_path / "p" / "p.parquet", keep=["task", "y"])
    table = pq.read_table(out)
    assert table.column_names == ["task", "y", "prediction"]
    np.testing.assert_array_equal(table["prediction"].to_numpy(), known)
    assert [each.name for each in out.parent.iterdir()] == ["p.parquet"]


def test_progress_by_rows(tmp_path, capsys, large):
    written(tmp_path)
    told = []
    rows = stream(tmp_path, **BY, on_rows=lambda *each: told.append(each))
    RankFairRegressor(0.02, verbose=1).fit(rows)
    assert {what for what, _, _ in told} >= {"labels", "reading", "predicting"}
    assert {total for _, _, total in told} == {6000}
    assert told[-1][1] == 6000
    assert "rows" not in capsys.readouterr().err
    RankFairRegressor(0.02, verbose=1).fit(stream(tmp_path, **BY))
    lines = capsys.readouterr().err.splitlines()
    assert "[RankFairRegressor] labels: 3,000 of 6,000 rows" in lines
    assert "[RankFairRegressor] reading: 6,000 of 6,000 rows" in lines


def test_nothing_is_left_behind(tmp_path, large, monkeypatch):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    written(tmp_path / "rows")
    RankFairRegressor(0.02).fit(stream(tmp_path / "rows", **BY))
    assert not list(temporary.iterdir())


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
        frame["task"] += 100
    else:
        frame["y"] = -frame["y"]
    frame.to_parquet(path, index=False, compression="none")
    if how == "dated back":  # only the footer tells
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert path.stat().st_size == before.st_size


@pytest.mark.parametrize("how", ["values", "dated back", "longer", "gone"])
@pytest.mark.parametrize("when", [1, 2, 3, 5, 6])
def test_files_that_change_meanwhile(tmp_path, large, how, when):
    """Between two passes or within one: after so many batches, two of each pass."""
    written(tmp_path)
    rewritten(tmp_path / "1.parquet", "values")  # to what it is uncompressed
    rewritten(tmp_path / "1.parquet", "values")
    told = []

    def change(*each):
        told.append(each)
        if len(told) == when:
            rewritten(tmp_path / "1.parquet", how)

    model = RankFairRegressor(0.02)
    with pytest.raises(ValueError, match=r"1\.parquet was changed while its rows were"):
        model.fit(stream(tmp_path, **BY, on_rows=change))
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("when", [1, 3])
def test_a_change_that_leads_to_another_error(tmp_path, when):
    written(tmp_path)
    told = []

    def change(*each):
        told.append(each)
        if len(told) == when:
            rewritten(tmp_path / "1.parquet", "another task")

    with pytest.raises(ValueError, match=r"1\.parquet was changed while its rows were"):
        RankFairRegressor(0.02).fit(stream(tmp_path, **BY, on_rows=change))


def test_a_change_before_a_fit_is_none(tmp_path):
    frame = written(tmp_path)
    rows = stream(tmp_path, **BY)
    assert rows.n_rows == 6000
    frame.assign(more=1.0)[:3000].to_parquet(tmp_path / "0.parquet", index=False)
    with pytest.raises(ValueError, match=r'1\.parquet has no column "more", which'):
        RankFairRegressor(0.02).fit(rows)
    frame[3000:].drop(columns="a").to_parquet(tmp_path / "0.parquet", index=False)
    frame[3000:].drop(columns="a").to_parquet(tmp_path / "1.parquet", index=False)
    model = RankFairRegressor(0.02).fit(rows)
    assert "a" not in model.feature_names_in_
    frame[3000:].drop(columns="b").to_parquet(tmp_path / "0.parquet", index=False)
    frame[3000:].drop(columns="b").to_parquet(tmp_path / "1.parquet", index=False)
    for predict in (model.predict, lambda rows: predict_parquet(model, rows, "p.pq")):
        with pytest.raises(ValueError, match='a column "b", which the files do not'):
            predict(rows)


@pytest.mark.parametrize("when", [1, 2])
def test_files_that_change_while_they_are_predicted(tmp_path, when):
    written(tmp_path / "rows")
    told, out = [], tmp_path / "p.parquet"
    model = RankFairRegressor(0.02).fit(stream(tmp_path / "rows", **BY))

    def change(*each):
        told.append(each)
        if len(told) == when:
            rewritten(tmp_path / "rows" / "0.parquet", "values")

    rows = stream(tmp_path / "rows", on_rows=change)
    with pytest.raises(ValueError, match=r"0\.parquet was changed while its rows were"):
        predict_parquet(model, rows, out)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["rows"]


def test_a_prediction_that_was_killed_is_not_read(tmp_path):
    """All is written but for the rename: the rows of the folder are what they were."""
    file, folder = tmp_path / "m.rankfair", tmp_path / "rows"
    frame = written(folder, 600, files=1)
    model = RankFairRegressor(0.02).fit(stream(folder, **BY))
    save_model(model, file)
    code = (
        "import os, sys, time; from rankfair import load_model; "
        "from rankfair.streams import predict_parquet; "
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
    assert sorted(each.name for each in folder.iterdir()) == ["0.parquet", "p.parquet"]


@pytest.mark.parametrize("links", [("a",), ("a", "b")])
def test_links_that_lead_in_a_circle(tmp_path, links):
    written(tmp_path / "rows", 60)
    for link in links:  # two of them make as many paths as there are powers of two
        (tmp_path / "rows" / link).symlink_to(tmp_path / "rows")
    (tmp_path / "rows" / ".hidden").mkdir()
    written(tmp_path / "rows" / ".hidden", 60)
    (tmp_path / "more").mkdir()
    written(tmp_path / "more", 60)
    (tmp_path / "rows" / "more").symlink_to(tmp_path / "more")
    assert stream(tmp_path / "rows").n_rows == 60
    assert stream(f"{tmp_path}/rows/*.parquet").n_rows == 60
    assert stream(f"{tmp_path}/rows/**/*.parquet").n_rows == 120
    assert stream(f"{tmp_path}/r*/**/1.parquet").n_rows == 60


def test_a_link_to_itself_is_named(tmp_path):
    written(tmp_path, 60)
    model = RankFairRegressor(0.02).fit(stream(tmp_path, **BY))
    loop = tmp_path / "loop.parquet"
    loop.symlink_to(loop)
    for given in (tmp_path, loop):
        with pytest.raises(ValueError, match=r"loop\.parquet cannot be read as Parq"):
            stream(given)
    rows = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    with pytest.raises(OSError, match=r"symbolic links.*loop\.parquet"):
        predict_parquet(model, rows, loop)


def test_two_fits_at_once_do_not_meet(tmp_path, large):
    written(tmp_path)

    def fit(epsilon):
        return RankFairRegressor(epsilon).fit(stream(tmp_path, **BY)).coef_

    alone = [fit(0.02), fit(0.1)]
    with ThreadPoolExecutor(2) as both:
        together = list(both.map(fit, (0.02, 0.1)))
    np.testing.assert_array_equal(together, alone)


def test_a_million_tasks_need_a_sentence(tmp_path, monkeypatch):
    from rankfair.engines import base as room

    frame = written(tmp_path, 600, 50)
    words = r"50 tasks with 3 predictors need about .*, and this machine has 0\.0 GB"
    monkeypatch.setattr(room, "memory_here", lambda: 20_000)
    X, y = frame.drop(columns="y"), frame["y"]
    by = {"tasks": "task", "sensitive_features": "group"}
    with pytest.raises(ValueError, match=words):
        RankFairRegressor(0.02, **by).fit(X, y)
    told = []
    rows = stream(tmp_path, **BY, on_rows=lambda *each: told.append(each[0]))
    for thin in (1 << 15, 100):  # brought together, and left in the files
        monkeypatch.setattr("rankfair.engines.chunked.FEW_ROWS", thin)
        with pytest.raises(ValueError, match=words):
            RankFairRegressor(0.02).fit(rows)
        assert set(told) == {"labels"}  # no row was read for it
    monkeypatch.setattr(room, "memory_here", lambda: 55_000)
    RankFairRegressor(0.02).fit(stream(tmp_path, **BY))
    cure = '50 tasks with 3 .*9 arrays of 3 × 3 .*; penalty="task" and "ridge" need'
    with pytest.raises(ValueError, match=cure):
        RankFairRegressor(0.02, penalty="feature").fit(stream(tmp_path, **BY))
    monkeypatch.setattr(room, "memory_here", lambda: None)
    RankFairRegressor(0.02).fit(stream(tmp_path, **BY))


def test_the_memory_of_this_machine(monkeypatch, tmp_path):
    from rankfair.engines import base as room
    from rankfair.engines.base import memory_here

    assert memory_here() is None or memory_here() > 1 << 28
    for text, wanted in (("123456\n", 123456), ("max\n", None)):
        (tmp_path / "limit").write_text(text)
        monkeypatch.setattr(room, "LIMITS", (tmp_path / "limit", tmp_path / "none"))
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        assert memory_here() == (wanted or whole)

    def unknown(name):
        raise ValueError(name)

    monkeypatch.setattr(os, "sysconf", unknown, raising=False)
    assert memory_here() is None


def test_many_more_tasks_than_rows_a_batch(tmp_path, monkeypatch):
    from rankfair.engines import parquet, summary

    frame = written(tmp_path, 9000, 1800)
    X, y = frame.drop(columns="y"), frame["y"]
    by = {"tasks": "task", "sensitive_features": "group"}
    monkeypatch.setattr(summary, "PIECE", 3000)
    monkeypatch.setattr(parquet, "BATCH", 1)
    monkeypatch.setattr("rankfair.engines.chunked.FEW_ROWS", 1000)
    # Left out, five rows a task leave ridge no fit in the band, here as in memory.
    for settings in ({}, {"penalty": "ridge", "count": "train"}):
        known = RankFairRegressor(0.02, **settings, **by).fit(X, y)
        found = RankFairRegressor(0.02, **settings).fit(stream(tmp_path, **BY))
        assert found.status_ == known.status_ == "satisfied"
        np.testing.assert_allclose(found.coef_, known.coef_, rtol=1e-6, atol=1e-9)


def passes(told):
    """What each pass over the rows was for."""
    starts = [0.0, *(done for _, done, _ in told)]
    pairs = zip(told, starts, strict=False)
    return [what for (what, done, _), before in pairs if done <= before or not before]


@pytest.mark.parametrize("count", ["loo", "train"])
def test_a_fit_reads_the_rows_three_times(tmp_path, monkeypatch, count):
    """However many counts there are, and whatever is far from all else."""
    monkeypatch.setattr("rankfair.engines.chunked.FEW_ROWS", 0)
    monkeypatch.setattr("rankfair.solvers.streamed.EXACT_ROWS", 0)
    frame = written(tmp_path)
    frame.loc[7, "b"] = 1e5
    frame[:3000].to_parquet(tmp_path / "0.parquet", index=False)
    told, opened = [], []
    read = ParquetFile.iter_batches

    def counted(self, *given, **named):
        opened.append(self)
        return read(self, *given, **named)

    monkeypatch.setattr(ParquetFile, "iter_batches", counted)
    rows = stream(tmp_path, **BY, on_rows=lambda *each: told.append(each))
    model = RankFairRegressor(0.02, count=count).fit(rows)
    assert model.status_ == "satisfied"
    assert passes(told) == ["labels", "reading", "predicting"]
    assert len(opened) == 3 * 2  # two files


@pytest.mark.parametrize("odd", [None, 1e5])
def test_more_rows_than_are_looked_at(tmp_path, monkeypatch, odd):
    """Bins are laid by some of the rows, and all are counted."""
    monkeypatch.setattr("rankfair.solvers.streamed.EXACT_ROWS", 0)
    frame = written(tmp_path, 600_000, 50)
    if odd is not None:
        frame.loc[7, "b"] = odd
        frame[:300_000].to_parquet(tmp_path / "0.parquet", index=False)
    by = {"tasks": "task", "sensitive_features": "group"}
    known = RankFairRegressor(0.02, **by).fit(frame.drop(columns="y"), frame["y"])
    found = RankFairRegressor(0.02).fit(stream(tmp_path, **BY))
    assert found.status_ == known.status_ == "satisfied"
    # All columns have one unit, and the largest coefficient is about 1.
    np.testing.assert_allclose(found.coef_, known.coef_, rtol=0, atol=1e-6)
    assert abs(found.loo_auc_ - known.loo_auc_) < 1e-6
    assert abs(found.rank_auc_ - known.rank_auc_) < 1e-6


def test_groups_that_take_turns(tmp_path, monkeypatch):
    """Rows that come in a pattern: some of them, in steps, would be of one group."""
    monkeypatch.setattr("rankfair.engines.chunked.FEW_ROWS", 0)
    monkeypatch.setattr("rankfair.solvers.streamed.EXACT_ROWS", 0)
    monkeypatch.setattr("rankfair.solvers.streamed.FINE", 1 << 13)
    frame = written(tmp_path, 20_000)
    frame = frame.sort_values("group", kind="stable")
    half = int((~frame["group"]).sum())
    turns = np.argsort(np.r_[np.arange(half) / half, np.arange(20_000 - half) / half])
    frame = frame.iloc[turns].assign(y=lambda rows: rows["y"].to_numpy())
    for name in ("0", "1"):
        frame[int(name) :: 2].to_parquet(tmp_path / f"{name}.parquet", index=False)
    by = {"tasks": "task", "sensitive_features": "group"}
    known = RankFairRegressor(0.02, **by).fit(frame.drop(columns="y"), frame["y"])
    found = RankFairRegressor(0.02).fit(stream(tmp_path, **BY))
    assert found.status_ == known.status_
    np.testing.assert_allclose(found.coef_, known.coef_, rtol=1e-4)


@pytest.mark.parametrize("count", ["loo", "train"])
def test_rows_alike_are_warned_of(tmp_path, monkeypatch, count):
    monkeypatch.setattr("rankfair.engines.chunked.FEW_ROWS", 0)
    frame = written(tmp_path)
    few = frame.assign(a=frame["a"] > 0, b=frame["b"] > 0, c=frame["c"] > 0)
    for i, rows in enumerate(np.array_split(np.arange(len(few)), 2)):
        few.iloc[rows].to_parquet(tmp_path / f"{i}.parquet", index=False)
    model = RankFairRegressor(0.02, count=count)
    if count == "train":
        model.fit(stream(tmp_path, **BY))
        return
    # Of 40 kinds of rows; pairs of A and B of one kind, counted one by one.
    words = r"100% of some of the rows have the task and the predictors of another"
    with pytest.warns(UserWarning, match=words) as said:
        model.fit(stream(tmp_path, **BY))
    kinds = few.groupby(["a", "b", "c", "task"])["group"].agg(["sum", "size"])
    pairs = (kinds["sum"] * (kinds["size"] - kinds["sum"])).sum()
    share = pairs / (few["group"].sum() * (~few["group"]).sum())
    assert f"AUC by up to {share / 2:.2g}." in str(said[0].message)
