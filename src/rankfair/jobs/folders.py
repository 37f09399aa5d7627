"""`rankfair fit` and `predict` for folders of Parquet files, here or on a cluster."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, cast

from rankfair.engines.cluster import Cluster
from rankfair.engines.files import Unchanged, common_schema, n_rows_of
from rankfair.files.encoding import Encoding
from rankfair.files.model_files import save_model
from rankfair.files.table import Table, check_names
from rankfair.input.disk import real, sync, visible, working_folder
from rankfair.input.errors import TableError, listed
from rankfair.jobs.columns import Reading, Roles, files_of, refuse_taken
from rankfair.jobs.design import Design
from rankfair.jobs.fits import Fitted, fit_files
from rankfair.jobs.predicts import (
    OTHER_NAME,
    Predicted,
    Predictor,
    predict_files,
)
from rankfair.jobs.rows import Settings
from rankfair.streams import stream

__all__ = ["fit_folder", "fit_rows", "predict_folder", "predict_rows"]

SMALL = 200_000  # rows that are read at once, with a report by cross-validation
NO_REPORT = (
    "Fitted without holding the rows in memory, so there is no report: audit the model "
    "on rows that memory holds with rankfair audit FILE --model MODEL."
)


def fit_rows(
    files: Sequence[str],
    roles: Roles,
    reading: Reading,
    settings: Settings,
    *,
    scheduler: str | None = None,
    needs_report: bool = False,
    out: Path | None = None,
    notes: str | None = None,
    on_step: Any = None,
    **report: Any,
) -> Fitted:
    """Fit to files, or to a folder: in memory with a report unless it is large.

    Parameters are those of `fit_files` and `fit_folder`; ``needs_report`` refuses to do
    without one.
    """
    common: dict[str, Any] = {"out": out, "notes": notes, "on_step": on_step}
    folder = _folder(files, scheduler)
    named = files if folder is None else files_of(folder)
    if folder is None or (scheduler is None and not is_large(named)):
        return fit_files(named, roles, reading, settings, **common, **report)
    if needs_report:
        raise ValueError(
            "--html and --max-gap need a report, and rows that are not in memory get "
            "none: audit the model on some of them with rankfair audit --model."
        )
    fewer = f"fit to {SMALL:,} rows at most"
    _refuse_reading(reading, fewer if is_large(named) else "leave out --scheduler")
    return fit_folder(folder, roles, settings, scheduler=scheduler, **common)


def _refuse_reading(reading: Reading, instead: str) -> None:
    """Raise for options that change rows or columns on their way into memory."""
    for option, given in (
        ("--drop-missing", reading.drop_missing),
        ("--missing", reading.missing),
        ("--text", reading.text),
        ("--number", reading.numbers),
        ("--file-column", reading.file_column is not None),
    ):
        if given:
            raise ValueError(
                f"{option} is not for rows that are not in memory, which are taken as "
                "the Parquet files hold them: leave it out, and write files with what "
                f"it would do done, or {instead}."
            )


def predict_rows(
    model: str,
    files: Sequence[str],
    reading: Reading,
    *,
    scheduler: str | None = None,
    **how: Any,
) -> Predicted:
    """Predict files into one, or a folder into another; see `predict_files`."""
    folder = _folder(files, scheduler)
    if folder is None:
        return predict_files(model, files, reading, **how)
    return predict_folder(model, folder, reading, scheduler=scheduler, **how)


def _folder(files: Sequence[str], scheduler: str | None) -> str | None:
    """Return the folder if one was named; a scheduler needs one."""
    if len(files) == 1 and Path(files[0]).is_dir():
        return files[0]
    if scheduler is not None:
        raise ValueError("--scheduler goes with one folder of Parquet files.")
    return None


def is_large(files: Sequence[str]) -> bool:
    """Tell whether files hold more rows than are read at once."""
    return sum(_height(each) for each in files) > SMALL


def _height(file: str) -> int:
    def by_polars(rows: Any) -> int:
        import polars as pl

        return int(rows.select(pl.len()).collect().item())

    return int(_ask(file, lambda parquet: parquet.metadata.num_rows, by_polars))


def _ask(
    file: str, by_pyarrow: Callable[[Any], Any], by_polars: Callable[[Any], Any]
) -> Any:
    """Ask something of a Parquet file, or say that it is none.

    By pyarrow where it is installed, as `rankfair.tables` does: damaged files make
    polars end the process now and then.
    """
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        return _ask_polars(file, by_polars)
    try:
        with ParquetFile(file) as parquet:
            return by_pyarrow(parquet)
    except (ArrowException, OSError) as error:
        raise _unsound(file, error) from None


def _ask_polars(file: str, ask: Callable[[Any], Any]) -> Any:
    import polars as pl

    try:
        return ask(pl.scan_parquet(file))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise _unsound(file, error) from None


def _unsound(file: str, error: BaseException) -> TableError:
    why = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
    return TableError(f"is no sound Parquet file: {why}", source=file)


def fit_folder(
    folder: str,
    roles: Roles,
    settings: Settings,
    *,
    out: Path | None = None,
    notes: str | None = None,
    scheduler: str | None = None,
    on_step: Any = None,
) -> Fitted:
    """Fit to the rows of a folder without holding them in memory.

    Parameters
    ----------
    folder : str
        Parquet files with the same columns.
    roles : Roles
        Target, one protected column, tasks; all other columns are predictors and must
        hold numbers.
    settings : Settings
        What the model is asked for.
    out : Path, optional
        The model file.
    notes : str, optional
        A few words to keep in the model file.
    scheduler : str, optional
        The address of a Dask scheduler, whose workers then read the files.
    on_step : callable, optional
        Told what is being done, how many rows are done, and how many there are.

    Returns
    -------
    Fitted
        The model, without an audit.
    """
    if roles.target is None:
        raise ValueError("name the column to predict with --target.")
    roles.check()
    kinds = _kinds(files_of(folder)[0])
    check_names((*roles.named, *(roles.features or ()), *roles.drop), [*kinds], folder)
    predictors = roles.predictors(tuple(kinds))
    labels = (*roles.sensitive, *roles.tasks)
    numbers = tuple(name for name in labels if kinds[name])
    design = Design(
        Roles(roles.target, roles.sensitive, roles.tasks, cut=numbers),
        Encoding(predictors, {}),
    )
    model = settings.model(design.roles)
    if scheduler is None:
        n_rows = _fit_here(model, folder, roles, predictors, on_step)
    else:
        n_rows = _fit_there(model, folder, roles, predictors, scheduler)
    path = None
    if out is not None:
        path = save_model(model, out, notes=notes, extra=design.to_dict())
    return Fitted(model, path, n_rows, None, measured="fitted", notes=(NO_REPORT,))


def predict_folder(
    model: str,
    folder: str,
    reading: Reading,
    *,
    out: str,
    name: str = "prediction",
    keep: Sequence[str] | None = None,
    scheduler: str | None = None,
) -> Predicted:
    """Predict a folder file by file into another; with a scheduler, by its workers.

    Files are named as those that they are of; workers write a file a partition,
    ``part.0.parquet`` and so on.  See `_together` for what is there if it is stopped.
    """
    if out == "-" or real(out) == real(folder):
        raise ValueError("name another folder for the predictions of a folder: --out.")
    if scheduler is not None:
        _refuse_reading(reading, "leave out --scheduler")
    files = files_of(folder)
    with _together(Path(out)) as part:
        if scheduler is not None:
            return _predict_there(model, folder, str(part), name, keep, scheduler)
        predictor = Predictor.of_file(model)
        n_rows, table = 0, Table({})
        notes: list[str] = []
        for file in files:
            to = str(part / Path(file).name)
            done = predictor.predict([file], reading, out=to, name=name, keep=keep)
            n_rows, table = n_rows + done.n_rows, done.table
            notes += done.notes
        return Predicted(table, n_rows, tuple(dict.fromkeys(notes)))


@contextmanager
def _together(out: Path) -> Iterator[Path]:
    """Give a folder to write to, whose files go to ``out`` when all are there.

    A folder ``out`` that is not there yet comes with all of them in one step.  Into one
    that is there they go one by one, each whole: a process that is killed meanwhile
    leaves some, and the next one refuses them.  After an error none is left.

    Parquet files in ``out`` are refused: whoever reads the folder would read them as
    well, or could not tell which were new.
    """
    target = real(out)
    # What is a link behind all links leads in a circle.
    if (target.exists() or target.is_symlink()) and not target.is_dir():
        raise ValueError(f"{out} is no folder, as predictions of a folder need: --out.")
    names = (Path(each.name) for each in out.glob("*.parquet"))
    others = sorted(str(name) for name in names if visible(name))
    if others:
        raise ValueError(
            f"{out} already holds {listed(others, 2)}, which would be read with the "
            "predictions: name another folder with --out, or empty it."
        )
    there = target.exists()
    where = target if there else target.parent
    where.mkdir(parents=True, exist_ok=True)
    with working_folder(where) as made, ExitStack() as undo:
        part = made / "part"
        part.mkdir()
        yield part
        files = sorted(part.glob("*.parquet"))
        for path in (*files, part):
            sync(path)
        if there:
            for path in files:
                undo.callback(path.rename(target / path.name).unlink)
        else:
            part.rename(target)
        undo.pop_all()
        sync(where)


def _kinds(file: str) -> dict[str, bool]:
    """Return the columns of a file, and whether each holds numbers."""

    def by_pyarrow(parquet: Any) -> dict[str, bool]:
        from pyarrow.types import is_decimal, is_floating, is_integer

        numbers = (is_integer, is_floating, is_decimal)
        return {
            each.name: any(holds(each.type) for holds in numbers)
            for each in parquet.schema_arrow
        }

    def by_polars(rows: Any) -> dict[str, bool]:
        schema = rows.collect_schema()
        return {name: kind.is_numeric() for name, kind in schema.items()}

    return dict(_ask(file, by_pyarrow, by_polars))


def _fit_here(
    model: Any, folder: str, roles: Roles, predictors: tuple[str, ...], on_step: Any
) -> int:
    rows = stream(
        files_of(folder),
        target=roles.target,
        tasks=list(roles.tasks) or None,
        sensitive_features=_only(roles),
        sample_weight=roles.weight,
        features=list(predictors),
        on_rows=on_step,
    )
    model.fit(rows)
    return rows.n_rows


def _fit_there(
    model: Any, folder: str, roles: Roles, predictors: tuple[str, ...], scheduler: str
) -> int:
    columns = [*dict.fromkeys((*predictors, *roles.named))]
    files = Unchanged.of(files_of(folder))
    with _connected(scheduler):
        import dask.dataframe as dd

        check_names(columns, common_schema(files.files).names, folder)
        frame = dd.read_parquet([*map(str, files.files)], columns=columns)
        model.fit(frame, roles.target, sample_weight=roles.weight)
        files.check()  # workers read again what a lost one had
    return n_rows_of(files.files)


def _predict_there(
    path: str,
    folder: str,
    out: str,
    name: str,
    keep: Sequence[str] | None,
    scheduler: str,
) -> Predicted:
    design, model = Design.of_file(path)
    if design.encoding.categories:
        raise ValueError(
            "the model encodes columns of text, which workers do not: leave out "
            "--scheduler."
        )
    files = Unchanged.of(files_of(folder))
    with _connected(scheduler) as cluster:
        import dask.dataframe as dd

        there = common_schema(files.files).names
        check_names([*model.feature_names_in_, *(keep or ())], there, folder)
        refuse_taken(name, there, folder, OTHER_NAME)
        frame = dd.read_parquet([*map(str, files.files)])
        kept = frame if keep is None else frame[list(keep)]
        rows = kept.assign(**{name: model.predict(frame)})
        write = rows.to_parquet(out, write_index=False, compute=False)
        cluster.result(cluster.client.compute(write))
        files.check()
    return Predicted(Table({}), n_rows_of(files.files), ())


def _only(roles: Roles) -> str:
    if len(roles.sensitive) > 1:
        raise ValueError(
            "--sensitive names one column for rows that are not in memory."
        )
    return roles.sensitive[0]


@contextmanager
def _connected(address: str) -> Iterator[Cluster]:
    """A cluster for the time of a block; what it logs is not for this terminal."""
    from distributed import Client

    handlers = logging.getLogger("distributed").handlers
    levels = [handler.level for handler in handlers]
    for handler in handlers:
        handler.setLevel(logging.CRITICAL + 1)
    try:
        try:
            asyncio.run(_greet(address))
            client: Any = cast(Any, Client)(address)
        except Exception as error:  # whatever comes of bytes that mean something else
            known = isinstance(error, OSError | ValueError)
            why = str(error).rstrip(".") if known else "it speaks another protocol"
            raise ValueError(
                f"--scheduler {address} does not answer as a Dask scheduler: {why}."
            ) from None
        with client:
            yield Cluster.of(client)
    finally:
        for handler, level in zip(handlers, levels, strict=True):
            handler.setLevel(level)


async def _greet(address: str) -> None:
    """Exchange the first words with a scheduler; a client would wait for them."""
    import dask
    from dask.utils import parse_timedelta
    from distributed import Security
    from distributed.comm.core import connect

    seconds = parse_timedelta(dask.config.get("distributed.comm.timeouts.connect"))
    ways = cast(Any, Security)().get_connection_args("client")
    try:
        comm: Any = await asyncio.wait_for(
            cast(Any, connect)(address, timeout=seconds, **ways), seconds
        )
    except TimeoutError:
        raise TimeoutError(f"no word in {seconds:g} s") from None
    await comm.close()
