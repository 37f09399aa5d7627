"""Folders of Parquet files: in memory while they are small, else not."""

import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rankfair.cli import fit as folders
from rankfair.cli import predict as predicts
from rankfair.cli.data import ModelSettings
from rankfair.cli.fit import fit_rows
from rankfair.cli.predict import predict_rows
from rankfair.files.columns import Reading, Roles, files_of, load
from rankfair.files.read import read_table
from rankfair.files.table import Table
from rankfair.files.write import write_table
from rankfair.input.errors import TableError
from rankfair.metrics import rank_auc
from sheets import pay_csv, people

pytest.importorskip("pyarrow")
PLAIN = Reading()
ROLES = Roles(target="pay", sensitive=("gender",), tasks=("job",))


@pytest.fixture(params=[str, int], ids=["text", "numbers"])
def folder(request, tmp_path):
    """A folder of two files, whose labels are text or numbers."""
    data = people(n=240)
    del data["education"]
    if request.param is int:
        data["job"] = np.unique(data["job"], return_inverse=True)[1] + 10
        data["gender"] = (data["gender"] == "m").astype(int)
    columns = {
        name: values if values.dtype.kind in "if" else values.astype(object)
        for name, values in data.items()
    }
    path = tmp_path / "rows"
    for name, rows in (("a", slice(0, 100)), ("b", slice(100, None))):
        part = Table({n: values[rows] for n, values in columns.items()})
        write_table(part, path / f"{name}.parquet")
    return path


def predicted(path, out):
    """Return the rows of all files of a folder."""
    files = sorted(str(each) for each in out.glob("*.parquet"))
    return load(files, ROLES, PLAIN)


def check(done, folder, tmp_path, **more):
    """The model predicts what it was fitted to inside its band."""
    out = tmp_path / "out"
    told = predict_rows(str(done.path), [str(folder)], PLAIN, out=str(out), **more)
    assert told.n_rows == done.n_rows == 240
    rows = predicted(done.path, out)
    auc = rank_auc(None, rows["prediction"], sensitive_features=rows["gender"])
    assert auc == pytest.approx(done.model.rank_auc_, abs=1e-9)
    assert abs(auc - 0.5) < 0.02
    return rows


def test_a_small_folder_is_its_files(folder, tmp_path):
    out = tmp_path / "m.rankfair"
    done = fit_rows(
        [str(folder)],
        ROLES,
        PLAIN,
        ModelSettings(blind=False),
        out=out,
        folds=2,
        needs_report=True,
    )
    assert done.measured != "fitted"
    assert done.audit.provenance.n_rows == 240
    rows = check(done, folder, tmp_path)
    assert "pay" in rows.names


def test_a_large_folder_is_not_held_in_memory(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "SMALL", 100)
    out = tmp_path / "m.rankfair"
    told = []
    done = fit_rows(
        [str(folder)],
        ROLES,
        PLAIN,
        ModelSettings(blind=False),
        out=out,
        notes="A note.",
        on_step=lambda *step: told.append(step),
    )
    assert done.audit is None
    assert "no report" in done.notes[0]
    assert told[-1][2] == 240
    check(done, folder, tmp_path, name="prediction", keep=["gender", "job", "pay"])
    with pytest.raises(ValueError, match="--max-gap need a report"):
        fit_rows(
            [str(folder)], ROLES, PLAIN, ModelSettings(blind=False), needs_report=True
        )


@pytest.mark.parametrize(
    ("roles", "settings", "sentence"),
    [
        (Roles(sensitive=("gender",)), ModelSettings(blind=False), "--target"),
        (
            Roles("pay", ("gender", "job")),
            ModelSettings(blind=False),
            "names one column",
        ),
        (Roles("pay", ("gendr",)), ModelSettings(blind=False), 'Did you mean "gender"'),
    ],
)
def test_what_cannot_be_streamed_is_said(
    folder, monkeypatch, roles, settings, sentence
):
    monkeypatch.setattr(folders, "SMALL", 100)
    with pytest.raises(ValueError, match=sentence):
        fit_rows([str(folder)], roles, PLAIN, settings)


@pytest.mark.parametrize(
    ("option", "given"),
    [
        ("--drop-missing", {"drop_missing": True}),
        ("--missing", {"missing": ("NA",)}),
        ("--text", {"text": ("job",)}),
        ("--number", {"numbers": ("age",)}),
        ("--file-column", {"file_column": "file"}),
    ],
)
def test_how_rows_are_read_into_memory_is_not_ignored(
    folder, monkeypatch, option, given
):
    monkeypatch.setattr(folders, "SMALL", 100)
    said = f"^{option} is not for rows that are not in .*, or"
    with pytest.raises(ValueError, match=f"{said} fit to 100 rows at most"):
        fit_rows([str(folder)], ROLES, Reading(**given), ModelSettings(blind=False))


def test_folders_that_are_none(tmp_path):
    with pytest.raises(TableError, match="without Parquet files"):
        fit_rows([str(tmp_path)], ROLES, PLAIN, ModelSettings(blind=False))
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(ValueError, match="cannot be read as Parquet"):
        fit_rows([str(tmp_path)], ROLES, PLAIN, ModelSettings(blind=False))
    (tmp_path / "none").mkdir()
    with pytest.raises(TableError, match="is a folder without Parquet files"):
        load([str(tmp_path / "none")], ROLES, PLAIN)


def test_a_folder_is_read_as_its_files(folder):
    files = [str(folder / "a.parquet"), str(folder / "b.parquet")]
    whole, parts = load([str(folder)], ROLES, PLAIN), load(files, ROLES, PLAIN)
    assert whole.names == parts.names
    for name in whole.names:
        np.testing.assert_array_equal(whole[name], parts[name])
    with pytest.raises(ValueError, match="named twice"):
        load([str(folder), files[0]], ROLES, PLAIN)


@pytest.mark.parametrize("command", ["audit", "path", "compare"])
def test_commands_take_a_folder(folder, command, capsys):
    from typer.testing import CliRunner

    from rankfair.cli.app import app

    words = [command, folder, "--target", "pay", "--sensitive", "gender", "-q"]
    more = {"audit": [], "path": ["--at", 0.1], "compare": ["--method", "tilt"]}
    words += more[command]

    def run(*options):
        return CliRunner().invoke(app, [str(each) for each in (*words, *options)])

    assert run().exit_code == 0
    done = run("-o", folder / "t.parquet")
    assert done.exit_code == 2
    assert "in a folder that is read" in done.stderr


@pytest.mark.parametrize("out", ["-", "rows"])
def test_predictions_of_a_folder_go_to_another(folder, tmp_path, out):
    to = "-" if out == "-" else str(folder)
    with pytest.raises(ValueError, match="another folder"):
        predict_rows("m.rankfair", [str(folder)], PLAIN, out=to)


@pytest.fixture
def model(folder, tmp_path):
    """A model file of the rows of the folder."""
    path = tmp_path / "m.rankfair"
    fit_rows([str(folder)], ROLES, PLAIN, ModelSettings(blind=False), out=path, folds=0)
    return str(path)


def names(folder):
    return sorted(each.name for each in folder.iterdir())


@pytest.mark.parametrize("there", [False, True])
def test_predictions_of_a_folder_are_whole_and_alone(folder, model, tmp_path, there):
    out = tmp_path / "out"
    if there:
        out.mkdir()
        (out / "notes.txt").write_text("mine")
        (out / ".hidden.parquet").write_text("read by nobody")

    def predict():
        return predict_rows(model, [str(folder)], PLAIN, out=str(out))

    mine = names(out) if there else []
    rows, whole = folder / "b.parquet", (folder / "b.parquet").read_bytes()
    rows.write_bytes(b"PAR1 no")
    with pytest.raises(TableError):
        predict()
    assert (names(out) if there else []) == mine
    rows.write_bytes(whole)
    assert predict().n_rows == 240
    assert names(out) == sorted([*mine, "a.parquet", "b.parquet"])
    plain = tmp_path / "plain"
    plain.mkdir()
    assert out.stat().st_mode == plain.stat().st_mode
    assert names(tmp_path) == ["m.rankfair", "out", "plain", "rows"]
    before = (out / "b.parquet").read_bytes()
    (out / "a.parquet").unlink()
    with pytest.raises(ValueError, match='already holds "b\\.parquet", which would be'):
        predict()
    assert (out / "b.parquet").read_bytes() == before
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for place in (model, str(loop)):
        with pytest.raises(ValueError, match="is no folder, as predictions"):
            predict_rows(model, [str(folder)], PLAIN, out=place)


@pytest.mark.parametrize("there", [False, True])
def test_a_prediction_of_a_folder_that_is_killed_at_the_end(
    folder, model, tmp_path, there
):
    """A new folder has all files or is not there; in an old one each file is whole."""
    out = tmp_path / "out"
    if there:
        out.mkdir()
    code = (
        "import os, sys, time; from pathlib import Path; "
        "from rankfair.files.columns import Reading; "
        "from rankfair.cli.predict import predict_rows\n"
        "rename, out = Path.rename, Path(sys.argv[3])\n"
        "def stop(self, to):\n"
        "    done = rename(self, to)\n"
        "    if to == out or to.parent == out and to.suffix == '.parquet':\n"
        "        print('here', flush=True)\n"
        "        time.sleep(600)\n"
        "    return done\n"
        "Path.rename = stop\n"
        "predict_rows(sys.argv[1], [sys.argv[2]], Reading(), out=str(out))\n"
    )
    command = [sys.executable, "-c", code, model, folder, out]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "here\n"
        process.kill()
    files = files_of(str(out))
    assert len(files) == (1 if there else 2)
    assert sum(read_table(file).n_rows for file in files) == (100 if there else 240)
    with pytest.raises(ValueError, match=r"already holds .*a\.parquet"):
        predict_rows(model, [str(folder)], PLAIN, out=str(out))
    for file in files:
        Path(file).unlink()
    assert predict_rows(model, [str(folder)], PLAIN, out=str(out)).n_rows == 240
    assert names(out) == ["a.parquet", "b.parquet"]  # what was left is gone


def test_an_error_at_the_end_leaves_no_file(folder, model, tmp_path, monkeypatch):
    out = tmp_path / "out"
    out.mkdir()
    rename = Path.rename

    def fail(self, to):
        if Path(to) == out / "b.parquet":
            raise OSError("disk full")
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(OSError, match="disk full"):
        predict_rows(model, [str(folder)], PLAIN, out=str(out))
    assert names(out) == []


def test_a_working_folder_is_nobody_elses(folder, model, tmp_path, monkeypatch):
    tmp_path.chmod(0o1777)
    modes, write = [], predicts.write_table

    def seen(table, target):
        inside = Path(target).relative_to(tmp_path)
        modes.append(stat.S_IMODE((tmp_path / inside.parts[0]).stat().st_mode))
        write(table, target)

    monkeypatch.setattr(predicts, "write_table", seen)
    predict_rows(model, [str(folder)], PLAIN, out=str(tmp_path / "out"))
    assert modes == [0o700, 0o700]


def test_a_folder_is_predicted_by_one_model(folder, model, tmp_path, monkeypatch):
    """Whoever writes another model file meanwhile does not change the rest."""
    out, write = tmp_path / "out", predicts.write_table

    def replaced(table, target):
        write(table, target)
        Path(model).write_bytes(b"another model")

    monkeypatch.setattr(predicts, "write_table", replaced)
    assert predict_rows(model, [str(folder)], PLAIN, out=str(out)).n_rows == 240


def test_hidden_files_are_not_read(folder):
    (folder / ".a.parquet").write_bytes((folder / "a.parquet").read_bytes())
    assert load([str(folder)], ROLES, PLAIN).n_rows == 240
    assert [Path(each).name for each in files_of(str(folder))] == names(folder)[1:]


def test_files_are_predicted_as_before(tmp_path):
    csv, model = pay_csv(tmp_path), tmp_path / "m.rankfair"
    fit_rows([csv], ROLES, PLAIN, ModelSettings(blind=False), out=model, folds=0)
    out = tmp_path / "p.csv"
    predict_rows(str(model), [csv], PLAIN, out=str(out))
    assert read_table(str(out)).n_rows == 150
