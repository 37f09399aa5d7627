"""Options that several commands share, each written once."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = [
    "Columns",
    "Constraint",
    "Demand",
    "Files",
    "Model",
    "Out",
    "Scheduler",
    "Scope",
]

Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="A Dask scheduler whose workers read the folder of Parquet files.",
    ),
]


class Constraint(StrEnum):
    """What can be levelled."""

    rank = "rank"
    mean = "mean"
    residual = "residual"
    distribution = "distribution"


class Scope(StrEnum):
    """Over which rows."""

    everywhere = "global"
    task = "task"
    both = "both"


class Penalty(StrEnum):
    """What keeps the weights small."""

    pool = "pool"
    task = "task"
    feature = "feature"
    shared = "shared"
    ridge = "ridge"


class Unseen(StrEnum):
    """What becomes of a task that training did not have."""

    error = "error"
    shared = "shared"


@dataclass(frozen=True, kw_only=True)
class Files:
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
        from rankfair.jobs.columns import Reading

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
class Columns:
    """What the columns are for."""

    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="What is to be predicted.")
    ] = None
    sensitive: Annotated[
        list[str],
        typer.Option(
            metavar="COLUMN",
            help="The protected column; repeat it for several.",
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
            help="Cut protected numbers into N groups of equal size, or weight.",
        ),
    ] = None
    intersect: Annotated[
        bool,
        typer.Option("--intersect", help="Compare combinations of protected columns."),
    ] = False

    def roles(self, **more: Any) -> Any:
        """What the reader and the estimators have to know."""
        from rankfair.jobs.columns import Roles

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
class Demand:
    """What is to be level, and where."""

    constraint: Annotated[
        list[Constraint] | None,
        typer.Option(
            metavar="|".join(Constraint),
            help="What is levelled; repeat it for several.  [default: rank]",
        ),
    ] = None
    scope: Annotated[
        Scope,
        typer.Option(
            metavar="|".join(Scope),
            help="Over all rows, within every task, or both; the last two take two "
            "groups of one column, known for all rows.",
        ),
    ] = Scope.everywhere

    def asked(self, epsilons: list[float] | None = None) -> dict[str, Any]:
        """What the estimator has to know; an ε for all constraints, or one for each."""
        constraints = tuple(
            each.value for each in self.constraint or (Constraint.rank,)
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
class Model:
    """What the model is, and what it predicts from."""

    penalty: Annotated[
        Penalty,
        typer.Option(metavar="|".join(Penalty), help="What keeps the weights small."),
    ] = Penalty.pool
    beta: Annotated[
        str,
        typer.Option(
            metavar="NUMBER|auto", help="Weight of the penalty; auto: cross-validated."
        ),
    ] = "auto"
    unseen: Annotated[
        Unseen,
        typer.Option(
            metavar="|".join(Unseen),
            help="Tasks not seen in training: refuse, or the model all share.",
        ),
    ] = Unseen.error
    blind: Annotated[
        bool,
        typer.Option(
            "--blind/--no-blind", help="Do not predict from the protected column."
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

    def settings(self, columns: Columns, **asked: Any) -> Any:
        """What the estimator has to know."""
        from rankfair.jobs.rows import Settings

        return Settings(
            penalty=self.penalty.value,
            beta=read_beta(self.beta),
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
class Out:
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


def read_beta(given: str) -> float | None:
    """Return the weight of the penalty, None for one that is chosen."""
    if given == "auto":
        return None
    try:
        return float(given)
    except ValueError:
        raise typer.BadParameter(
            f"a number or auto, got {given!r}", param_hint="--beta"
        ) from None
