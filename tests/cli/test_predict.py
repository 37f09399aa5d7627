"""Rows with a column more, in files and in folders."""

import stat
from pathlib import Path

import numpy as np
import pytest

from commands import COMMON, answer, run
from rankfair import RankFairRegressor, save_model
from rankfair.files.read import files_of, read_table
from rankfair.files.write import write_table
from sheets import pay_csv, people, write_csv


def test_rows_keep_their_columns_and_order(model, tmp_path):
    csv, out = pay_csv(tmp_path, seed=5), str(tmp_path / "p.csv")
    done = run("predict", model, csv, "-o", out, "--name", "guess", code=0)
    assert done.stderr == f"wrote 150 rows to {out}\n"
    before, after = read_table(csv), read_table(out)
    assert after.names == (*before.names, "guess")
    for name in before.names:
        assert (before[name] == after[name]).all()
    run("predict", model, csv, "-o", out, "--keep", "job", code=0)
    assert read_table(out).names == ("job", "prediction")
    said = run("predict", model, csv, "--keep", "agee", code=2).stderr
    assert 'no column "agee"' in said


def test_new_rows_need_no_target_and_unknown_categories_are_counted(model, tmp_path):
    data = people(n=5)
    del data["pay"]
    data["education"] = ["none"] * 5
    csv = write_csv(tmp_path / "new.csv", data)
    done = run("predict", model, csv, code=0)
    assert read_table(done.stdout.encode()).n_rows == 5
    assert done.stderr.startswith("Note: 5 rows have a category")
    assert run("predict", model, csv, "--quiet").stderr == ""


def test_new_rows_of_a_blind_model_need_no_group(model, tmp_path):
    csv, blind = pay_csv(tmp_path), str(tmp_path / "blind.rankfair")
    run("fit", csv, *COMMON, "--folds", 0, "-o", blind, code=0)
    data = people(n=5)
    with_group = write_csv(tmp_path / "group.csv", data)
    del data["gender"]
    without = write_csv(tmp_path / "new.csv", data)
    known = run("predict", blind, with_group, code=0)
    for options in ((), ("--drop-missing",)):
        found = run("predict", blind, without, *options, code=0)
        guessed = read_table(found.stdout.encode())["prediction"]
        assert (guessed == read_table(known.stdout.encode())["prediction"]).all()
    assert 'no column "gender"' in run("predict", model, without, code=2).stderr


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"gender": ["x"] * 5},
            'new.csv, column "gender": has labels not seen in training: "x" (5 rows); '
            'training had "f", "m". Use the labels of training, or fit with rows of '
            "these too.\n",
        ),
        ({"job": ["vet"] * 5}, "or with --penalty pool --unseen shared.\n"),
        ({"age": ['"30,5"'] * 5}, "--decimal"),
    ],
)
def test_rows_that_cannot_be_predicted_are_named(model, tmp_path, change, sentence):
    csv = write_csv(tmp_path / "new.csv", {**people(n=5), **change})
    done = run("predict", model, csv, "-o", tmp_path / "p.csv", code=2)
    assert sentence in done.stderr
    assert not (tmp_path / "p.csv").exists()


def test_numbers_too_large_to_predict_from_are_not_said_of_labels(tmp_path):
    data = people(n=40)
    data["age"] = [float(age) for age in data["age"]]
    data["pay"] = [1e6 * age for age in data["age"]]
    model = tmp_path / "m.rankfair"
    answer("fit", write_csv(tmp_path / "old.csv", data), out=model, folds=0)
    data["age"][0] = 1.7e308
    done = run("predict", model, write_csv(tmp_path / "new.csv", data), code=2)
    assert "The table has values that are far from those of training" in done.stderr
    assert "labels" not in done.stderr and "gender" not in done.stderr


def test_tasks_not_seen_are_predicted_if_the_model_can(tmp_path):
    asked = {"penalty": "shared", "unseen": "shared", "folds": 0}
    answer("fit", pay_csv(tmp_path), out=tmp_path / "s.rankfair", **asked)
    vets = write_csv(tmp_path / "vet.csv", people(n=5, jobs=["vet"]))
    done = run("predict", tmp_path / "s.rankfair", vets, code=0)
    assert read_table(done.stdout.encode()).n_rows == 5


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ({}, "m.rankfair does not say how"),
        ({"kind": "rankfair-design"}, "does not say what it was fitted to"),
    ],
)
def test_a_model_made_in_python_has_no_columns_of_files(tmp_path, extra, said):
    X, y = np.arange(20.0)[:, None], np.arange(20.0) % 7
    made = RankFairRegressor().fit(X, y, sensitive_features=["f", "m"] * 10)
    path = save_model(made, tmp_path / "m.rankfair", extra=extra)
    assert said in run("predict", path, pay_csv(tmp_path), code=2).stderr


# Folders


@pytest.fixture
def folder(tmp_path):
    """A folder of two Parquet files, of 100 and 140 rows."""
    pytest.importorskip("pyarrow")
    for name, n in (("a", 100), ("b", 140)):
        table = read_table(pay_csv(tmp_path, n=n))
        write_table(table, tmp_path / "rows" / f"{name}.parquet")
    (tmp_path / "pay.csv").unlink()
    return tmp_path / "rows"


def names(folder):
    return sorted(each.name for each in folder.iterdir())


def test_predictions_of_a_folder_go_to_a_new_one(folder, model, tmp_path):
    loop, file, there = (tmp_path / name for name in ("loop", "file", "there"))
    loop.symlink_to(loop)
    file.write_text("")
    there.mkdir()
    for place in ("-", loop, file, there):
        said = run("predict", model, folder, "-o", place, code=2).stderr
        assert "--out must be a new folder" in said
    assert "is read and would be" in run("predict", model, folder, "-o", folder).stderr


def test_predictions_of_a_folder_are_whole_or_not_there(
    folder, model, tmp_path, monkeypatch
):
    line, modes = ["predict", model, folder, "-o", tmp_path / "out"], []
    rows, whole = folder / "b.parquet", (folder / "b.parquet").read_bytes()
    rows.write_bytes(b"PAR1 no")
    run(*line, code=2)
    rows.write_bytes(whole)

    def fail(self, to):
        modes.append(stat.S_IMODE(self.parent.stat().st_mode))
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", fail)
        run(*line, code=2)
    assert modes == [0o700]  # nobody else looks in
    assert names(tmp_path) == ["rows"]
    assert run(*line, code=0).stderr == f"wrote 240 rows to {tmp_path / 'out'}\n"
    assert names(tmp_path / "out") == ["a.parquet", "b.parquet"]
    assert sum(read_table(f).n_rows for f in files_of(str(tmp_path / "out"))) == 240
    assert names(tmp_path) == ["out", "rows"]
