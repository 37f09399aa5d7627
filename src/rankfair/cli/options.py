"""Options that several commands share: each is declared once, as a field of a record.

`expanded` turns the fields of a command's record, and those of the records in it, into
options; the command gets the record back.
"""

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

import typer
from typer.core import TyperCommand, TyperGroup

from rankfair.input.errors import counted, printable

ScopeName = Literal["global", "task", "both"]
PenaltyName = Literal["pool", "task", "feature", "shared", "ridge"]
UnseenName = Literal["error", "shared"]
LayoutName = Literal["audit", "pay-transparency"]
HALF_WIDTH = (
    "Half width of the band: |AUC - 1/2| at most this; in standard deviations of the "
    "target for mean and residual, of KS for distribution."
)
Command = TypeVar("Command")


class ConstraintName(StrEnum):
    """What a constraint balances; a list of words must be one of an enum."""

    rank = "rank"
    mean = "mean"
    residual = "residual"
    distribution = "distribution"


def option(
    default: Any, metavar: str | None, meaning: str, *names: str, **more: Any
) -> Any:
    """Return a field that is an option of the command line, called as the field is.

    What help says of a default is left out if it is in the meaning.
    """
    told = "by default" not in meaning.lower() and "[default" not in meaning
    said = typer.Option(
        *names, metavar=metavar, help=meaning, show_default=told, **more
    )
    kept = {} if default is MISSING else {"default": default}
    return field(**kept, metadata={"option": said})


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """Files, and how they are written."""

    files: list[str] = field(
        metadata={
            "option": typer.Argument(
                metavar="FILE",
                help="CSV, Excel or Parquet, several with the same columns, a folder "
                "of Parquet files, - for a pipe.",
                show_default=False,
            )
        }
    )
    file_column: str | None = option(
        None, "NAME", "Add a column with the name of each row's file."
    )
    text: list[str] | None = option(
        None, "COLUMN", "Read a column as text, whatever it holds."
    )
    number: list[str] | None = option(
        None, "COLUMN", "Read a column as numbers, 007 as 7; else stop."
    )
    missing: list[str] | None = option(
        None, "CELL", "A cell that means “not known”, NA say."
    )
    trim: bool = option(False, None, "Ignore spaces around names and labels.", "--trim")
    drop_missing: bool = option(
        False, None, "Leave out rows with an empty cell.", "--drop-missing"
    )
    sheet_name: str | None = option(
        None, "NAME", "The sheet of a workbook; by default the first.", "--sheet"
    )
    delimiter: str | None = option(
        None, "SIGN", "Between cells; by default as the header shows."
    )
    decimal: str = option(".", "SIGN", "The decimal sign, . or ,")
    thousands: str | None = option(None, "SIGN", "Between groups of three digits.")
    encoding: str | None = option(
        None, "NAME", "By default UTF-8, or what the file's mark says."
    )
    max_bytes: int = option(
        4 << 30, "N", "Refuse larger files.  [default: 4 GiB]", min=1
    )

    def reading(self) -> Any:
        """Return what the reader has to know."""
        from rankfair.files.table import Reading

        return Reading(
            text=tuple(self.text or ()),
            numbers=tuple(self.number or ()),
            encoding=self.encoding,
            delimiter=self.delimiter,
            decimal=self.decimal,
            thousands=self.thousands,
            missing=tuple(self.missing or ()),
            trim=self.trim,
            sheet=self.sheet_name,
            file_column=self.file_column,
            drop_missing=self.drop_missing,
            max_bytes=self.max_bytes,
        )


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """What the columns are for."""

    target: str | None = option(None, "COLUMN", "What is to be predicted.")
    sensitive: list[str] = option(
        MISSING, "COLUMN", "The sensitive column; repeat it for several."
    )
    task: list[str] | None = option(
        None, "COLUMN", "The task of a row: a job, a county."
    )
    weight: str | None = option(None, "COLUMN", "How much a row counts.")
    bins: int | None = option(
        None,
        "N",
        "Cut sensitive numbers into N groups of equal size, or weight.",
        min=2,
    )
    intersect: bool = option(
        False, None, "Compare combinations of sensitive columns.", "--intersect"
    )

    def roles(self, **more: Any) -> Any:
        """Return what each column is for."""
        from rankfair.files.columns import Roles

        if self.intersect and len(self.sensitive) < 2:
            raise typer.BadParameter(
                "combines two or more columns; name each with --sensitive",
                param_hint="--intersect",
            )
        roles = Roles(
            target=self.target,
            sensitive=tuple(self.sensitive),
            tasks=tuple(self.task or ()),
            weight=self.weight,
            cut=() if self.bins is None else tuple(self.sensitive),
            **more,
        )
        roles.check()
        return roles


@dataclass(frozen=True, kw_only=True)
class ConstraintOptions:
    """Which constraints, and over which rows."""

    constraint: list[ConstraintName] | None = option(
        None,
        "|".join(ConstraintName),
        "What is balanced; repeat it for several.  [default: rank]",
    )
    scope: ScopeName = option(
        "global",
        "|".join(get_args(ScopeName)),
        "Over all rows, within every task, or both; the last two take two groups of "
        "one column, known for all rows.",
    )

    @property
    def names(self) -> list[str]:
        """The constraints, the rank by default."""
        return [each.value for each in self.constraint or [ConstraintName.rank]]

    def settings(self, epsilons: list[float] | None = None) -> dict[str, Any]:
        """Return settings of the estimator; an ε for all constraints, or for each."""
        names = self.names
        found = {"constraints": one_or_all(names), "scope": self.scope}
        if not epsilons:
            return found
        if len(epsilons) not in (1, len(names)):
            times = f"once for --constraint {names[0]}"
            if len(names) > 1:
                times = "once for all, or once for each --constraint"
            raise typer.BadParameter(
                f"given {len(epsilons)} times for {counted(len(names), 'constraint')}: "
                f"give it {times}",
                param_hint="--epsilon",
            )
        return {**found, "epsilon": one_or_all(epsilons)}


def one_or_all(values: list[Any]) -> Any:
    """Return values as an estimator takes them: none, the only one, or a list."""
    return values if len(values) > 1 else next(iter(values), None)


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """What the model is, and what it predicts from."""

    penalty: PenaltyName = option(
        "pool", "|".join(get_args(PenaltyName)), "What keeps the weights small."
    )
    beta: str = option(
        "auto", "NUMBER|auto", "Weight of the penalty; auto: cross-validated."
    )
    unseen: UnseenName = option(
        "error",
        "|".join(get_args(UnseenName)),
        "Tasks not seen in training: refuse, or the model all share.",
    )
    blind: bool = option(
        True, None, "Do not predict from the sensitive column.", "--blind/--no-blind"
    )
    feature: list[str] | None = option(
        None, "COLUMN", "Predict from these columns alone."
    )
    drop: list[str] | None = option(None, "COLUMN", "Do not predict from this column.")
    predictor: list[str] | None = option(
        None,
        "COLUMN",
        "Predict from this column, too, though it looks like an identifier or a date.",
    )
    max_categories: int = option(
        50, "N", "The most categories of a text column.", min=2
    )
    seed: int = option(0, "N", "Seed of all that is random.", min=0)

    def regressor(self, columns: ColumnOptions, **settings: Any) -> Any:
        """Return the estimator that is asked for, not fitted."""
        from rankfair.estimators.linear import RankFairRegressor

        return RankFairRegressor(
            tasks=one_or_all(columns.task or []),
            sensitive_features=one_or_all(columns.sensitive),
            bins=columns.bins,
            intersect=columns.intersect,
            penalty=self.penalty,
            beta=_beta(self.beta),
            unseen=self.unseen,
            blind=self.blind,
            random_state=self.seed,
            **settings,
        )

    def roles(self, columns: ColumnOptions) -> Any:
        """Return what each column is for, predictors among them."""
        only = None if self.feature is None else tuple(self.feature)
        return columns.roles(
            features=only,
            drop=tuple(self.drop or ()),
            kept=tuple(self.predictor or ()),
        )


def _beta(given: str) -> Any:
    """Return the weight of the penalty, a number or auto."""
    if given == "auto":
        return given
    try:
        return float(given)
    except ValueError:
        raise typer.BadParameter(
            f"a number or auto, got {given!r}", param_hint="--beta"
        ) from None


@dataclass(frozen=True, kw_only=True)
class GateOptions:
    """The largest rank gaps that pass, and whether small groups may be ignored."""

    max_gap: float | None = option(
        None,
        "GAP",
        "End with code 1 if the rank gap |AUC - 1/2| is larger; of several predictions "
        "that of the last.",
        min=0.0,
        max=0.5,
    )
    max_task_gap: float | None = option(
        None,
        "GAP",
        "End with code 1 if the rank gap of a flagged task is larger, with 3 if no "
        "task can be judged.",
        min=0.0,
        max=0.5,
    )
    ignore_small: bool = option(
        False,
        None,
        "Let --max-gap hold though groups of few rows are not judged.",
        "--ignore-small-groups",
    )

    @property
    def given(self) -> bool:
        """Whether there is anything to judge."""
        return self.max_gap is not None or self.max_task_gap is not None


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Where the answer goes."""

    html: Path | None = option(None, "FILE", "Write the page there.", dir_okay=False)
    title: str | None = option(None, "TEXT", "The title of the page.")
    as_json: bool = option(False, None, "Print JSON instead of a table.", "--json")
    quiet: bool = option(False, None, "Show no progress and no notes.", "--quiet", "-q")

    @property
    def sheet(self) -> str | None:
        """The file of the table; none by default."""
        return None


@dataclass(frozen=True, kw_only=True)
class SheetOptions(OutputOptions):
    """Where the answer goes, and its table."""

    sheet: str | None = option(
        None,
        "FILE",
        "Write the table there: CSV, Excel or Parquet, - for CSV to a pipe.",
        "--out",
        "-o",
    )


def expanded(command: Callable[[Command], None]) -> Callable[..., None]:
    """Return a function with an option for each field of the command's record."""
    record = inspect.get_annotations(command)["asked"]
    parameters = [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty
            if each.default is MISSING
            else each.default,
            annotation=Annotated[each.type, each.metadata["option"]],
        )
        for each in options_of(record)
    ]

    @functools.wraps(command)
    def spread(**given: Any) -> None:
        command(packed(record, given))

    spread.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    spread.__annotations__ = {each.name: each.annotation for each in parameters}
    return spread


def options_of(record: Any) -> Iterator[Any]:
    """Yield the fields of a record and of the records in it, in order."""
    for each in fields(record):
        yield from options_of(each.type) if is_dataclass(each.type) else (each,)


def packed(record: Any, given: dict[str, Any]) -> Any:
    """Return the record of the options given."""
    return record(
        **{
            each.name: packed(each.type, given)
            if is_dataclass(each.type)
            else given[each.name]
            for each in fields(record)
        }
    )


# Typer has a copy of click of its own, or uses that of others.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]


class Commands(TyperGroup):
    """Commands that say what is wrong with their words as `echo` would."""

    def make_context(self, *given: Any, **more: Any) -> Any:
        """Parse the words before the command."""
        with _printable_errors():
            return super().make_context(*given, **more)

    def invoke(self, ctx: Any) -> Any:
        """Parse the others, and run the command."""
        with _printable_errors():
            return super().invoke(ctx)


@contextmanager
def _printable_errors() -> Iterator[None]:
    try:
        yield
    except UsageError as error:
        said: Any = error
        said.message = printable(said.message or "", keep="\n")
        raise


class Once(TyperCommand):
    """A command that refuses an option given twice, where the last would win."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse as usual, after a look at what is there twice."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        for param in order:
            if order.count(param) > 1 and _takes_one(param):
                raise typer.BadParameter(
                    f"given {order.count(param)} times, but it takes one value: give "
                    "it once",
                    ctx=ctx,
                    param_hint=param.opts[0],
                )
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            raise


def _takes_one(param: Any) -> bool:
    """Return whether it is an option with a value, of which the last would win."""
    is_option = str(param.param_type_name) == "option"
    return is_option and not (param.multiple or param.is_flag)
