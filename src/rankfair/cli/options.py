"""Options that several commands share, and how options are parsed."""

import functools
import inspect
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields, is_dataclass
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from rankfair.input.errors import printable

__all__ = [
    "ColumnOptions",
    "Commands",
    "ConstraintOptions",
    "Epsilon",
    "Epsilons",
    "FileOptions",
    "Folds",
    "IgnoreSmall",
    "MaxGap",
    "ModelOptions",
    "Once",
    "OutputOptions",
    "Sheet",
    "command_line",
    "expanded",
    "refuse_two_outputs",
]

CHOICE = re.compile(r"'(.*)' is not one of ('.*')\.")
MaxGap = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        max=0.5,
        metavar="GAP",
        help="End with code 1 if the rank gap |AUC - 1/2| is larger; of several "
        "predictions that of the last.",
    ),
]
IgnoreSmall = Annotated[
    bool,
    typer.Option(
        "--ignore-small-groups",
        help="Let --max-gap hold though groups of few rows are not judged.",
    ),
]
Epsilon = Annotated[
    float,
    typer.Option(
        min=0.0,
        metavar="NUMBER",
        help="Half width of the band: |AUC - 1/2| at most this; in standard deviations "
        "of the target for mean and residual, of KS for distribution.",
    ),
]
Epsilons = Annotated[
    list[float] | None,
    typer.Option(
        "--epsilon",
        min=0.0,
        metavar="NUMBER",
        help="Half width of the band: |AUC - 1/2| at most this; in standard deviations "
        "of the target for mean and residual, of KS for distribution. Once for all, or "
        "once for each --constraint in order.  [default: 0.01]",
        show_default=False,
    ),
]
Folds = Annotated[
    int, typer.Option(min=2, metavar="N", help="Folds of the cross-validation.")
]
Sheet = Annotated[
    str | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        help="Write the table there: CSV or Parquet, - for CSV to a pipe.",
    ),
]


class ConstraintName(StrEnum):
    """What a constraint balances."""

    rank = "rank"
    mean = "mean"
    residual = "residual"
    distribution = "distribution"


class ScopeName(StrEnum):
    """Over which rows."""

    everywhere = "global"
    task = "task"
    both = "both"


class PenaltyName(StrEnum):
    """What keeps the weights small."""

    pool = "pool"
    task = "task"
    feature = "feature"
    shared = "shared"
    ridge = "ridge"


class UnseenName(StrEnum):
    """What becomes of a task that training did not have."""

    error = "error"
    shared = "shared"


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """Files, and how they are written."""

    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="CSV or Parquet, several with the same columns, a folder of Parquet "
            "files, - for a pipe.",
            show_default=False,
        ),
    ]
    file_column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Add a column with the name of each row's file."
        ),
    ] = None
    text: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="Read a column as text, whatever it holds."
        ),
    ] = None
    number: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="Read a column as numbers, 007 as 7; else stop."
        ),
    ] = None
    missing: Annotated[
        list[str] | None,
        typer.Option(metavar="CELL", help="A cell that means “not known”, NA say."),
    ] = None
    drop_missing: Annotated[
        bool,
        typer.Option("--drop-missing", help="Leave out rows with an empty cell."),
    ] = False
    delimiter: Annotated[
        str | None,
        typer.Option(
            metavar="SIGN", help="Between cells; by default as the header shows."
        ),
    ] = None
    decimal: Annotated[
        str, typer.Option(metavar="SIGN", help="The decimal sign, . or ,")
    ] = "."
    thousands: Annotated[
        str | None,
        typer.Option(metavar="SIGN", help="Between groups of three digits."),
    ] = None
    encoding: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="By default UTF-8, or what the file's mark says."
        ),
    ] = None
    max_bytes: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Refuse larger files.  [default: 4 GiB]",
            show_default=False,
        ),
    ] = 4 << 30

    def reading(self) -> Any:
        """What the reader has to know."""
        from rankfair.files.columns import Reading

        return Reading(
            text=tuple(self.text or ()),
            numbers=tuple(self.number or ()),
            encoding=self.encoding,
            delimiter=self.delimiter,
            decimal=self.decimal,
            thousands=self.thousands,
            missing=tuple(self.missing or ()),
            file_column=self.file_column,
            drop_missing=self.drop_missing,
            max_bytes=self.max_bytes,
        )


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """What the columns are for."""

    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="What is to be predicted.")
    ] = None
    sensitive: Annotated[
        list[str],
        typer.Option(
            metavar="COLUMN",
            help="The sensitive column; repeat it for several.",
            show_default=False,
        ),
    ]
    task: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="The task of a row: a job, a county."),
    ] = None
    weight: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="How much a row counts.")
    ] = None
    bins: Annotated[
        int | None,
        typer.Option(
            min=2,
            metavar="N",
            help="Cut sensitive numbers into N groups of equal size, or weight.",
        ),
    ] = None
    intersect: Annotated[
        bool,
        typer.Option("--intersect", help="Compare combinations of sensitive columns."),
    ] = False

    def roles(self, **more: Any) -> Any:
        """What the reader and the estimators have to know."""
        from rankfair.files.columns import Roles

        if self.intersect and len(self.sensitive) < 2:
            raise typer.BadParameter(
                "combines two or more columns; name each with --sensitive",
                param_hint="--intersect",
            )
        return Roles(
            target=self.target,
            sensitive=tuple(self.sensitive),
            tasks=tuple(self.task or ()),
            weight=self.weight,
            cut=() if self.bins is None else tuple(self.sensitive),
            **more,
        )


@dataclass(frozen=True, kw_only=True)
class ConstraintOptions:
    """Which constraints, and over which rows."""

    constraint: Annotated[
        list[ConstraintName] | None,
        typer.Option(
            metavar="|".join(ConstraintName),
            help="What is balanced; repeat it for several.  [default: rank]",
        ),
    ] = None
    scope: Annotated[
        ScopeName,
        typer.Option(
            metavar="|".join(ScopeName),
            help="Over all rows, within every task, or both; the last two take two "
            "groups of one column, known for all rows.",
        ),
    ] = ScopeName.everywhere

    def asked(self, epsilons: list[float] | None = None) -> dict[str, Any]:
        """What the estimator has to know; an ε for all constraints, or one for each."""
        constraints = tuple(
            each.value for each in self.constraint or (ConstraintName.rank,)
        )
        asked: dict[str, Any] = {"constraints": constraints, "scope": self.scope.value}
        if not epsilons:
            return asked
        if len(epsilons) == 1:
            return {**asked, "epsilon": epsilons[0]}
        if len(epsilons) != len(constraints):
            times = f"once for --constraint {constraints[0]}"
            if len(constraints) > 1:
                times = "once for all, or once for each --constraint"
            raise typer.BadParameter(
                f"given {len(epsilons)} times for {len(constraints)} "
                f"constraint{'s' if len(constraints) > 1 else ''}: give it {times}",
                param_hint="--epsilon",
            )
        return {**asked, "epsilon": tuple(epsilons)}


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """What the model is, and what it predicts from."""

    penalty: Annotated[
        PenaltyName,
        typer.Option(
            metavar="|".join(PenaltyName), help="What keeps the weights small."
        ),
    ] = PenaltyName.pool
    beta: Annotated[
        str,
        typer.Option(
            metavar="NUMBER|auto", help="Weight of the penalty; auto: cross-validated."
        ),
    ] = "auto"
    unseen: Annotated[
        UnseenName,
        typer.Option(
            metavar="|".join(UnseenName),
            help="Tasks not seen in training: refuse, or the model all share.",
        ),
    ] = UnseenName.error
    blind: Annotated[
        bool,
        typer.Option(
            "--blind/--no-blind", help="Do not predict from the sensitive column."
        ),
    ] = True
    feature: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Predict from these columns alone."),
    ] = None
    drop: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Do not predict from this column."),
    ] = None
    max_categories: Annotated[
        int,
        typer.Option(min=2, metavar="N", help="The most categories of a text column."),
    ] = 50
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Seed of all that is random.")
    ] = 0

    def settings(self, columns: ColumnOptions, **asked: Any) -> Any:
        """What the estimator has to know."""
        from rankfair.cli.data import ModelSettings

        return ModelSettings(
            penalty=self.penalty.value,
            beta=_beta(self.beta),
            unseen=self.unseen.value,
            blind=self.blind,
            intersect=columns.intersect,
            bins=columns.bins,
            seed=self.seed,
            **asked,
        )

    def predictors(self) -> dict[str, Any]:
        """Which columns are predictors."""
        only = None if self.feature is None else tuple(self.feature)
        return {"features": only, "drop": tuple(self.drop or ())}


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Where the answer goes."""

    html: Annotated[
        Path | None,
        typer.Option(dir_okay=False, metavar="FILE", help="Write the page there."),
    ] = None
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The title of the page.")
    ] = None
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON instead of a table.")
    ] = False
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Show no progress and no notes.")
    ] = False


def _beta(given: str) -> float | None:
    """Return the weight of the penalty, None for one that is chosen."""
    if given == "auto":
        return None
    try:
        return float(given)
    except ValueError:
        raise typer.BadParameter(
            f"a number or auto, got {given!r}", param_hint="--beta"
        ) from None


def command_line() -> str:
    """Return the command as it was typed."""
    return shlex.join(["rankfair", *sys.argv[1:]])


def refuse_two_outputs(out: OutputOptions, sheet: str | None) -> None:
    """Leave if standard output would be both JSON and a table."""
    if out.as_json and sheet == "-":
        raise typer.BadParameter(
            "a pipe takes the table or --json, not both", param_hint="--out"
        )


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """Spread parameters that are bundles into their fields, as options of a command."""
    parameters: list[inspect.Parameter] = []
    bundles: dict[str, tuple[Any, list[str]]] = {}
    for own in inspect.signature(command, eval_str=True).parameters.values():
        if not is_dataclass(own.annotation):
            parameters.append(own.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        inside = fields(own.annotation)
        bundles[own.name] = own.annotation, [each.name for each in inside]
        parameters += [
            inspect.Parameter(
                each.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty
                if each.default is MISSING
                else each.default,
                annotation=each.type,
            )
            for each in inside
        ]

    @functools.wraps(command)
    def spread(**given: Any) -> None:
        packed = {
            name: bundle(**{field: given.pop(field) for field in names})
            for name, (bundle, names) in bundles.items()
        }
        command(**given, **packed)

    spread.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    spread.__annotations__ = {each.name: each.annotation for each in parameters}
    return spread


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
            error.message = _with_nearest(error.message)
            raise


def _with_nearest(message: str) -> str:
    """Return what is wrong with a value, and the nearest of those there are."""
    message = message.removeprefix("Value error, ")
    found = CHOICE.fullmatch(message)
    close = found and get_close_matches(found[1], re.findall(r"'([^']*)'", found[2]), 1)
    return f"{message} Did you mean '{close[0]}'?" if close else message


def _takes_one(param: Any) -> bool:
    """Tell whether it is an option with a value, of which the last would win."""
    is_option = str(param.param_type_name) == "option"
    return is_option and not (param.multiple or param.is_flag)
