"""Folders of Parquet files: in memory while they are small, else not."""

import os
import re
import socket
import stat
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from clusters import one_worker
from rankfair import RankFairRegressor
from rankfair.files.read import read_table
from rankfair.files.table import Table
from rankfair.files.write import write_table
from rankfair.input.errors import TableError
from rankfair.jobs import folders, predicts
from rankfair.jobs.columns import Reading, Roles, files_of, load
from rankfair.jobs.folders import fit_rows, predict_rows
from rankfair.jobs.rows import Settings
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
        Settings(blind=False),
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
        Settings(blind=False),
        out=out,
        notes="A note.",
        on_step=lambda *step: told.append(step),
    )
    assert done.audit is None
    assert "no report" in done.notes[0]
    assert told[-1][2] == 240
    check(done, folder, tmp_path, name="prediction", keep=["gender", "job", "pay"])
    with pytest.raises(ValueError, match="--max-gap need a report"):
        fit_rows([str(folder)], ROLES, PLAIN, Settings(blind=False), needs_report=True)


@pytest.mark.parametrize(
    ("roles", "settings", "sentence"),
    [
        (Roles(sensitive=("gender",)), Settings(blind=False), "--target"),
        (Roles("pay", ("gender", "job")), Settings(blind=False), "names one column"),
        (Roles("pay", ("gendr",)), Settings(blind=False), 'Did you mean "gender"'),
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
        fit_rows([str(folder)], ROLES, Reading(**given), Settings(blind=False))
    monkeypatch.setattr(folders, "SMALL", 1000)
    with pytest.raises(ValueError, match=f"{said} leave out --scheduler"):
        fit_rows(
            [str(folder)], ROLES, Reading(**given), Settings(blind=False), scheduler="a"
        )


def test_folders_that_are_none(tmp_path):
    with pytest.raises(TableError, match="without Parquet files"):
        fit_rows([str(tmp_path)], ROLES, PLAIN, Settings(blind=False))
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(TableError, match="no sound Parquet file"):
        fit_rows([str(tmp_path)], ROLES, PLAIN, Settings(blind=False))
    (tmp_path / "none").mkdir()
    with pytest.raises(TableError, match="is a folder without Parquet files"):
        load([str(tmp_path / "none")], ROLES, PLAIN)
    with pytest.raises(ValueError, match="goes with one folder"):
        fit_rows(
            [pay_csv(tmp_path)], ROLES, PLAIN, Settings(blind=False), scheduler="a"
        )


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
    fit_rows([str(folder)], ROLES, PLAIN, Settings(blind=False), out=path, folds=0)
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
        "from rankfair.jobs.columns import Reading; "
        "from rankfair.jobs.folders import predict_rows\n"
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
    fit_rows([csv], ROLES, PLAIN, Settings(blind=False), out=model, folds=0)
    out = tmp_path / "p.csv"
    predict_rows(str(model), [csv], PLAIN, out=str(out))
    assert read_table(str(out)).n_rows == 150


@pytest.fixture(scope="module")
def scheduler():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        yield cluster.scheduler_address


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_fits_and_predicts(folder, tmp_path, scheduler):
    out = tmp_path / "m.rankfair"
    done = fit_rows(
        [str(folder)], ROLES, PLAIN, Settings(blind=False), out=out, scheduler=scheduler
    )
    assert done.audit is None
    check(done, folder, tmp_path, scheduler=scheduler, name="prediction", keep=None)
    (folder / "more").mkdir()  # what a folder in it holds is read nowhere
    (folder / "a.parquet").rename(folder / "more" / "c.parquet")
    again = fit_rows(
        [str(folder)], ROLES, PLAIN, Settings(blind=False), scheduler=scheduler
    )
    assert again.n_rows == 140


@pytest.mark.filterwarnings("ignore")
def test_weights_count_on_a_cluster_too(folder, monkeypatch, scheduler):
    monkeypatch.setattr(folders, "SMALL", 100)
    weighted = Roles("pay", ("gender",), ("job",), weight="age")
    here, there = (
        fit_rows(
            [str(folder)], weighted, PLAIN, Settings(blind=False), scheduler=each
        ).model
        for each in (None, scheduler)
    )
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-9)
    assert "age" not in there.predictors_.tolist()


@pytest.mark.filterwarnings("ignore")
def test_what_a_cluster_cannot_is_said(folder, tmp_path, scheduler):
    model = tmp_path / "m.rankfair"
    fit_rows(
        [pay_csv(tmp_path)], ROLES, PLAIN, Settings(blind=False), out=model, folds=0
    )
    how = {"out": str(tmp_path / "out"), "scheduler": scheduler}
    with pytest.raises(ValueError, match="encodes columns of text"):
        predict_rows(str(model), [str(folder)], PLAIN, name="p", keep=None, **how)
    fit_rows([str(folder)], ROLES, PLAIN, Settings(blind=False), out=model, folds=0)
    with pytest.raises(TableError, match=r'already has a column "pay".*--name'):
        predict_rows(str(model), [str(folder)], PLAIN, name="pay", keep=None, **how)
    with pytest.raises(ValueError, match=r"^--missing is not .* leave out --scheduler"):
        predict_rows(str(model), [str(folder)], Reading(missing=("NA",)), **how)
    assert not (tmp_path / "out").exists()


@pytest.mark.filterwarnings("ignore")
def test_a_file_that_workers_cannot_read_is_named(folder, tmp_path, scheduler):
    model, b = tmp_path / "m.rankfair", folder / "b.parquet"
    fit_rows([str(folder)], ROLES, PLAIN, Settings(blind=False), out=model, folds=0)
    whole, rows = b.read_bytes(), read_table(str(b))

    def fit():
        fit_rows(
            [str(folder)], ROLES, PLAIN, Settings(blind=False), scheduler=scheduler
        )

    def predict():
        out = str(tmp_path / "out")
        predict_rows(str(model), [str(folder)], PLAIN, out=out, scheduler=scheduler)

    b.write_bytes(whole[: len(whole) // 2])
    for command in (fit, predict):
        said = r"b\.parquet (is no sound|cannot be read as) Parquet"
        with pytest.raises(ValueError, match=said):
            command()
    columns = {name: rows[name] for name in rows.names}
    columns["age"] = np.array(["old"] * rows.n_rows, dtype=object)
    write_table(Table(columns), b)
    for command in (fit, predict):
        said = r'b\.parquet: column "age" holds .*string, but .* in .*a\.parquet'
        with pytest.raises(ValueError, match=said):
            command()
    del columns["age"]
    write_table(Table(columns), b)
    for command in (fit, predict):
        with pytest.raises(ValueError, match=r'b\.parquet has no column "age"'):
            command()


def test_footers_are_read_without_pyarrow_too(folder, monkeypatch):
    files = [str(folder / "a.parquet"), str(folder / "b.parquet")]
    found = [(folders._height(file), folders._kinds(file)) for file in files]
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert found == [(folders._height(file), folders._kinds(file)) for file in files]
    (folder / "b.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(TableError, match="no sound Parquet file"):
        folders.is_large(files)


def test_damaged_footers_do_not_reach_polars(folder, monkeypatch):
    monkeypatch.setattr(folders, "_ask_polars", None)
    (folder / "b.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(TableError, match=r"b\.parquet is no sound Parquet file"):
        fit_rows([str(folder)], ROLES, PLAIN, Settings(blind=False))


@contextmanager
def listening(say):
    """A server that says the same to everybody; its port."""
    with socket.create_server(("127.0.0.1", 0)) as server, ExitStack() as heard:

        def serve():
            with suppress(OSError):
                while True:
                    heard.enter_context(server.accept()[0]).sendall(say)

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(
    ("say", "why"),
    [
        (b"", "no word in 1 s"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "it speaks another protocol"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "it speaks another protocol"),
        (bytes(64), "it speaks another protocol"),
        (None, "(Timed out trying to connect|no word in 1 s)"),
    ],
    ids=["silent", "http", "ssh", "zeros", "nobody"],
)
def test_a_port_that_is_no_scheduler(folder, model, tmp_path, say, why):
    pytest.importorskip("distributed")
    dask, out = pytest.importorskip("dask"), tmp_path / "out"
    with ExitStack() as stack:
        stack.enter_context(
            dask.config.set({"distributed.comm.timeouts.connect": "1s"})
        )
        port = 1 if say is None else stack.enter_context(listening(say))
        address = f"tcp://127.0.0.1:{port}"
        words = f"--scheduler {address} does not answer as a Dask scheduler: {why}"
        start = time.monotonic()
        with pytest.raises(ValueError, match=words):
            fit_rows(
                [str(folder)], ROLES, PLAIN, Settings(blind=False), scheduler=address
            )
        with pytest.raises(ValueError, match=words):
            predict_rows(model, [str(folder)], PLAIN, out=str(out), scheduler=address)
        assert time.monotonic() - start < 10
    assert not out.exists()


def test_schedulers_that_are_none(folder):
    pytest.importorskip("distributed")
    for address in ("nonsense://a", "", "tls://127.0.0.1:1"):
        with pytest.raises(ValueError, match=f"--scheduler {address} does not answer"):
            fit_rows(
                [str(folder)], ROLES, PLAIN, Settings(blind=False), scheduler=address
            )


@contextmanager
def abandoned():
    """The port of a scheduler whose only worker was killed."""
    with one_worker() as (client, worker):
        worker.kill()
        worker.wait()
        yield client.scheduler.address.rpartition(":")[2]


@pytest.mark.parametrize("folder", [int], indirect=True, ids=["numbers"])
@pytest.mark.parametrize(
    ("served", "said"),
    [
        (partial(listening, b""), "--scheduler tcp://127.0.0.1:.* no word in 3 s"),
        (abandoned, "The cluster at tcp://127.0.0.1:.* no workers for 3 s"),
    ],
    ids=["silent", "no workers"],
)
def test_commands_end_where_nobody_works(folder, model, tmp_path, served, said):
    pytest.importorskip("distributed")
    waits = {
        "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "3s",
        "DASK_DISTRIBUTED__SCHEDULER__NO_WORKERS_TIMEOUT": "3s",
    }
    command = [sys.executable, "-m", "rankfair", "predict", model, folder]
    with served() as port:
        done = subprocess.run(
            [
                *command,
                "-o",
                tmp_path / "out",
                "--scheduler",
                f"tcp://127.0.0.1:{port}",
            ],
            env={**os.environ, **waits},
            capture_output=True,
            text=True,
        )
    assert done.returncode == 2
    assert re.fullmatch(f"{said}\\.\n", done.stderr)
    assert names(tmp_path) == ["m.rankfair", "rows"]


@pytest.mark.filterwarnings("ignore")
def test_files_that_change_while_a_cluster_reads_them(folder, monkeypatch, scheduler):
    """A worker that is lost is stood in for by one that reads its files again."""
    path, fit = folder / "a.parquet", RankFairRegressor.fit

    def changed(self, *given, **more):
        fit(self, *given, **more)
        path.write_bytes((folder / "b.parquet").read_bytes())

    monkeypatch.setattr(RankFairRegressor, "fit", changed)
    with pytest.raises(ValueError, match=r"a\.parquet was changed while its rows were"):
        fit_rows(
            [str(folder)], ROLES, PLAIN, Settings(blind=False), scheduler=scheduler
        )
