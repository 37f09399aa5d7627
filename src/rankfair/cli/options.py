"""The options of every command, each declared once, as a field of a record.

A command's record is made of those of the options that it shares with others, and
`expanded` turns the fields into options; the command gets the record back.
"""

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, Field, dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup

from rankfair.cli.errors import telling
from rankfair.cli.methods import METHODS
from rankfair.input.errors import InputError, printable

METAVARS = {"list[str]": "COLUMN", "int": "N", "float": "NUMBER", "Path": "FILE"}
EMPTY = inspect.Parameter.empty
GAP: Any = {"metavar": "GAP", "min": 0.0, "max": 0.5}
PenaltyName = Literal["pool", "task", "feature", "shared", "ridge"]
# A list of words must be one of an enum.
ConstraintName = StrEnum("ConstraintName", "rank mean residual distribution")
SETTINGS = ("bins", "intersect", "penalty", "unseen", "blind")  # as in Python
HALF_WIDTH = (
    "Half width of the band: |AUC - 1/2| at most this; in standard deviations of the "
    "target for mean and residual, of KS for distribution."
)


def option(meaning: str, default: Any = None, *names: str, **more: Any) -> Any:
    """Return a field that is an option of the command line, called as the field is."""
    kept = {} if default is MISSING else {"default": default}
    return field(**kept, metadata={"said": (meaning, names, more)})


def argument(metavar: str, meaning: str, **more: Any) -> Any:
    """Return a field that is an argument of the command line."""
    said = typer.Argument(metavar=metavar, help=meaning, show_default=False, **more)
    return field(metadata={"argument": said})


def _declared(each: Field[Any]) -> Any:
    """Return what typer has to know of a field.

    A flag that is off has no opposite.  What help says of a default is left out if it
    is in the meaning.
    """
    if "argument" in each.metadata:
        return each.metadata["argument"]
    meaning, names, more = each.metadata["said"]
    if each.default is False or (names and not names[0].startswith("--")):
        names = (f"--{each.name.replace('_', '-')}", *names)
    choices = get_args(each.type) if get_origin(each.type) is Literal else ()
    of_type = (name for kind, name in METAVARS.items() if kind in str(each.type))
    usual = "|".join(choices) or next(of_type, "NAME")
    told = "by default" not in meaning.lower() and "[default" not in meaning
    more = {"metavar": usual, "show_default": told, **more}
    return typer.Option(*names, help=meaning, **more)


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """Files, and how they are written: the settings of `Reading`, under its names."""

    files: list[str] = argument(
        "FILE",
        "CSV, Excel or Parquet; several with the same columns; a folder of Parquet; -.",
    )
    file_column: str | None = option("Add a column with the name of each row's file.")
    text: list[str] | None = option("Read a column as text, whatever it holds.")
    numbers: list[str] | None = option(
        "Read a column as numbers, 007 as 7; else stop.", None, "--number"
    )
    missing: list[str] | None = option(
        "A cell that means “not known”, NA say.", metavar="CELL"
    )
    trim: bool = option("Ignore spaces around names and labels.", False)
    drop_missing: bool = option("Leave out rows with an empty cell.", False)
    sheet: str | None = option("The sheet of a workbook; by default the first.")
    delimiter: str | None = option(
        "Between cells; by default as the header shows.", metavar="SIGN"
    )
    decimal: str = option("The decimal sign, . or ,", ".", metavar="SIGN")
    thousands: str | None = option("Between groups of three digits.", metavar="SIGN")
    encoding: str | None = option("By default UTF-8, or what the file's mark says.")
    max_bytes: int = option("Refuse larger files.  [default: 4 GiB]", 4 << 30, min=1)

    def reading(self) -> Any:
        """Return what the reader has to know."""
        from rankfair.files.table import Reading

        names = [each.name for each in fields(FileOptions) if each.name != "files"]
        given = {name: getattr(self, name) for name in names}
        several = ("text", "numbers", "missing")
        return Reading(**given | {name: tuple(given[name] or ()) for name in several})


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Where the answer goes."""

    html: Path | None = option("Write the page there.", dir_okay=False)
    title: str | None = option("The title of the page.", metavar="TEXT")
    suppress: int = option("Show no group or task of fewer rows on the page.", 5, min=1)
    json: bool = option("Print JSON instead of a table.", False)
    quiet: bool = option("Show no progress and no notes.", False, "-q")

    @property
    def table(self) -> str | None:
        """The file of the table; none by default."""
        return None


@dataclass(frozen=True, kw_only=True)
class TableOptions(OutputOptions):
    """Where the answer goes, and its table."""

    table: str | None = option(
        "The table: CSV, Excel, Parquet, - for a pipe.",
        None,
        "--out",
        "-o",
        metavar="FILE",
    )


@dataclass(frozen=True, kw_only=True)
class JudgedOptions:
    """The noun of a row, and the largest rank gaps that pass."""

    unit: str = option(
        "What a row is, in the headline: a person.", "row", metavar="NOUN"
    )
    max_gap: float | None = option(
        "End with code 1 if the rank gap of the last prediction is larger.", **GAP
    )
    max_task_gap: float | None = option(
        "As --max-gap, for flagged tasks; code 3 if no task can be judged.", **GAP
    )
    ignore_small_groups: bool = option(
        "Let --max-gap pass though some groups are too small to judge.", False
    )


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """What the columns are for."""

    target: str | None = option("What is to be predicted.", metavar="COLUMN")
    sensitive: list[str] = option(
        "The sensitive column; repeat it for several.", MISSING
    )
    task: list[str] | None = option("The task of a row: a job, a county.")
    weight: str | None = option("How much a row counts.", metavar="COLUMN")
    bins: int | None = option(
        "Cut sensitive numbers into N groups of equal size, or weight.", min=2
    )
    intersect: bool = option("Compare combinations of sensitive columns.", False)
    reference: list[str] | None = option(
        "The group to compare others with, by default the largest.", metavar="LABEL"
    )

    def roles(self, **more: Any) -> Any:
        """Return what each column is for."""
        from rankfair.files.columns import Roles

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
class ModelOptions(ColumnOptions):
    """What the model is, and what it predicts from."""

    penalty: PenaltyName = option("What keeps the coefficients small.", "pool")
    beta: str = option(
        "Weight of the penalty; auto: cross-validated.", "auto", metavar="NUMBER|auto"
    )
    unseen: Literal["error", "shared"] = option(
        "Tasks not seen in training: refuse, or the model all share.", "error"
    )
    blind: bool = option("Do not predict from the sensitive column.", True)
    feature: list[str] | None = option("Predict from these columns alone.")
    drop: list[str] | None = option("Do not predict from this column.")
    predictor: list[str] | None = option(
        "Predict from it, though it looks like an identifier or a date."
    )
    max_categories: int = option("The most categories of a text column.", 50, min=2)
    seed: int = option("Seed of all that is random.", 0, min=0)

    def regressor(self, **settings: Any) -> Any:
        """Return the estimator that is asked for, not fitted."""
        from rankfair.estimators.linear import RankFairRegressor

        try:
            beta: Any = self.beta if self.beta == "auto" else float(self.beta)
        except ValueError:
            raise typer.BadParameter(
                f"a number or auto, got {self.beta!r}", param_hint="--beta"
            ) from None
        return RankFairRegressor(
            tasks=one_or_all(self.task or []),
            sensitive_features=one_or_all(self.sensitive),
            beta=beta,
            random_state=self.seed,
            **{name: getattr(self, name) for name in SETTINGS},
            **settings,
        )

    def roles(self, **more: Any) -> Any:
        """Return what each column is for, predictors among them."""
        if self.target is None:
            raise InputError("y", "is needed: it names the column to predict")
        only = None if self.feature is None else tuple(self.feature)
        drop, kept = tuple(self.drop or ()), tuple(self.predictor or ())
        return super().roles(features=only, drop=drop, kept=kept, **more)


@dataclass(frozen=True, kw_only=True)
class ConstraintOptions(ModelOptions):
    """Which constraints, and over which rows."""

    constraint: list[ConstraintName] | None = option(
        "What is balanced; repeat it for several.  [default: rank]",
        metavar="|".join(ConstraintName),
    )
    scope: Literal["global", "task", "both"] = option(
        "Over all rows, within every task, or both; the last two take two groups of "
        "one column, known for all rows.",
        "global",
    )

    @property
    def constraints(self) -> list[str]:
        """The constraints, the rank by default."""
        return [each.value for each in self.constraint or [ConstraintName.rank]]

    def regressor(self, **settings: Any) -> Any:
        """Return the estimator that is asked for, not fitted."""
        constraints = one_or_all(self.constraints)
        return super().regressor(constraints=constraints, scope=self.scope, **settings)


def one_or_all(values: list[Any]) -> Any:
    """Return values as an estimator takes them: none, the only one, or a list."""
    return values if len(values) > 1 else next(iter(values), None)


@dataclass(frozen=True, kw_only=True)
class AuditCommand(FileOptions, TableOptions, JudgedOptions, ColumnOptions):
    """What `rankfair audit` is asked for."""

    prediction: list[str] | None = option("Predictions; repeat it for several.")
    model: str | None = option(
        "Audit the predictions of a model file.", metavar="MODEL"
    )
    control: list[str] | None = option(
        "A column that may explain the gap; repeat it for several."
    )
    close_to: float | None = option(
        "Find the least raises that leave a gap of, say, 0.02.",
        metavar="SHARE",
        min=0,
        max=1,
    )
    raises: str | None = option("Write these raises there, a row each.", metavar="FILE")
    layout: Literal["audit", "pay-transparency"] = option(
        "The page; or Article 9 of directive (EU) 2023/970.", "audit"
    )
    complementary: str | None = option(
        "Complementary or variable pay, for that page.", metavar="COLUMN"
    )
    frequency_weights: bool = option(
        "Weights are counts of repeated rows; without it a row is one.", False
    )
    confidence: float = option("Of all confidence intervals, 0.5 to below 1.", 0.95)
    min_group: int = option("Judge no group of fewer rows.", 5, min=1)
    seed: int = option("Seed of permutations.", 0, min=0)


@dataclass(frozen=True, kw_only=True)
class FitCommand(FileOptions, OutputOptions, JudgedOptions, ConstraintOptions):
    """What `rankfair fit` is asked for."""

    out: Path | None = option(
        "The model file.", None, "-o", metavar="MODEL", dir_okay=False
    )
    epsilon: list[float] | None = option(
        f"{HALF_WIDTH} Once for all, or once for each --constraint in order.  "
        "[default: 0.01]",
        min=0.0,
    )
    folds: int = option(
        "Folds, if rows cannot be left out; 0 reports on training rows.", 5, min=0
    )
    memory_rows: int = option("A folder with more rows is read in pieces.", 200_000)
    notes: str | None = option("A few words to keep in the model file.", metavar="TEXT")

    def regressor(self, **settings: Any) -> Any:
        """Return the estimator, with an ε for all constraints or for each."""
        if self.epsilon:
            settings["epsilon"] = one_or_all(self.epsilon)
        return super().regressor(**settings)


@dataclass(frozen=True, kw_only=True)
class PathCommand(FileOptions, TableOptions, ConstraintOptions):
    """What `rankfair path` is asked for."""

    at: list[float] | None = option(
        "Try this ε; repeat it; by default up to forty.", metavar="EPSILON"
    )
    folds: int | None = option(
        "By default each row is left out of one fit; else there are 5.", min=2
    )


@dataclass(frozen=True, kw_only=True)
class CompareCommand(FileOptions, TableOptions, ModelOptions):
    """What `rankfair compare` is asked for."""

    method: list[str] | None = option(
        f"Try this method; repeat it; by default all: {'; '.join(METHODS)}.",
        metavar="NAME",
    )
    epsilon: float = option(HALF_WIDTH, 0.01, min=0.0, max=1.0)
    folds: int = option("Folds of the cross-validation.", 5, min=2)
    within: float = option(
        "Name a method with a rank gap of at most this.", 0.05, **GAP
    )


@dataclass(frozen=True, kw_only=True)
class PredictCommand(FileOptions):
    """What `rankfair predict` is asked for."""

    model: str = argument("MODEL", "A model file.")
    out: str = option(
        "CSV, Excel or Parquet, - for CSV to a pipe.", "-", "-o", metavar="FILE"
    )
    name: str = option("The name of the new column.", "prediction")
    keep: list[str] | None = option(
        "Write this column beside it; repeat it; by default all."
    )
    quiet: bool = option("Show no notes.", False, "-q")


@dataclass(frozen=True, kw_only=True)
class DescribeCommand:
    """What `rankfair describe` is asked for."""

    model: str = argument("MODEL", "A model file.")
    json: bool = option("Print JSON instead of text.", False)
    card: bool = option("Print a model card, in Markdown.", False)


@dataclass(frozen=True, kw_only=True)
class OnnxCommand:
    """What `rankfair export-onnx` is asked for."""

    model: str = argument("MODEL", "A model file.")
    out: Path = argument("OUT", "The ONNX file.", dir_okay=False)
    quiet: bool = option("Do not say what was written.", False, "-q")


@dataclass(frozen=True, kw_only=True)
class DemoCommand:
    """What `rankfair demo` is asked for."""

    out: Path = option(
        "For pictures and records.", Path("demo"), metavar="FOLDER", file_okay=False
    )
    seed: int = option("Seed of the synthetic data.", 0, min=0)
    draws: int = option("How many times the data are drawn.", 20, min=1)
    quiet: bool = option("Show no progress, only the table.", False, "-q")


def expanded(command: Callable[[Any], None]) -> Callable[..., None]:
    """Return a function with an option for each field of the command's record.

    Columns come first in help, then what no other command has.
    What goes wrong in the command becomes a sentence, and warnings become notes.
    """
    record = inspect.get_annotations(command)["asked"]
    first = [ColumnOptions.__annotations__, record.__annotations__]
    declared = sorted(
        fields(record), key=lambda each: [each.name not in names for names in first]
    )
    parameters = [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=EMPTY if each.default is MISSING else each.default,
            annotation=Annotated[each.type, _declared(each)],
        )
        for each in declared
    ]

    @functools.wraps(command)
    def spread(**given: Any) -> None:
        with telling(given.get("quiet", False)):
            command(record(**given))

    spread.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    spread.__annotations__ = {each.name: each.annotation for each in parameters}
    return spread


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
    # Typer has a copy of click of its own, or uses that of others.
    usage_error: type[Exception] = typer.BadParameter.__mro__[1]
    try:
        yield
    except usage_error as error:
        said: Any = error
        said.message = printable(said.message or "", keep="\n")
        raise


class Once(TyperCommand):
    """A command that refuses an option given twice, where the last would win."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse as usual, after a look at what is there twice."""
        order: list[Any] = self.make_parser(ctx).parse_args(args=list(args))[2]
        for param in order:
            option = param.param_type_name == "option" and not param.is_flag
            if option and not param.multiple and order.count(param) > 1:
                times = f"{order.count(param)} times, but it takes one value"
                said, name = f"given {times}: give it once", param.opts[0]
                raise typer.BadParameter(said, ctx=ctx, param_hint=name)
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:  # a word of an enum
            error.message = error.message.removeprefix("Value error, ")
            raise
