"""Options that several commands share, each written once."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["Columns", "Files", "Model", "Out", "expanded"]


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """Spread parameters that are bundles into their fields, as options of a command.

    Examples
    --------
    >>> def show(out: Out) -> None:
    ...     print(out.quiet)
    >>> spread = expanded(show)
    >>> "quiet" in inspect.signature(spread).parameters
    True
    >>> spread(html=None, as_json=False, quiet=True)
    True
    """
    parameters: list[inspect.Parameter] = []
    bundles: dict[str, tuple[Any, list[str]]] = {}
    for own in inspect.signature(command).parameters.values():
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

    # What comes first on the line has no default, so it comes first here.
    parameters.sort(key=lambda each: each.default is not inspect.Parameter.empty)
    spread.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    spread.__annotations__ = {each.name: each.annotation for each in parameters}
    return spread


@dataclass(frozen=True)
class Files:
    """Files, and how they are written."""

    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="CSV or Parquet, several with the same columns, - for a pipe.",
            show_default=False,
        ),
    ]
    text: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="Read a column as text, whatever it holds."
        ),
    ] = None
    file_column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Add a column with the name of each row's file."
        ),
    ] = None
    drop_missing: Annotated[
        bool, typer.Option("--drop-missing", help="Leave out rows with empty cells.")
    ] = False
    delimiter: Annotated[
        str | None, typer.Option(help="Between cells; by default as the header shows.")
    ] = None
    decimal: Annotated[str, typer.Option(help="The decimal sign, . or ,")] = "."
    thousands: Annotated[
        str | None, typer.Option(help="Between groups of three digits.")
    ] = None
    missing: Annotated[
        list[str] | None,
        typer.Option(metavar="CELL", help="A cell that means “not known”, NA say."),
    ] = None
    encoding: Annotated[
        str | None, typer.Option(help="By default UTF-8, or what the file's mark says.")
    ] = None

    def reading(self) -> Any:
        """What the reader has to know."""
        from rankfair.jobs.columns import Reading

        return Reading(
            text=tuple(self.text or ()),
            encoding=self.encoding,
            delimiter=self.delimiter,
            decimal=self.decimal,
            thousands=self.thousands,
            missing=tuple(self.missing or ()),
            file_column=self.file_column,
            drop_missing=self.drop_missing,
        )


@dataclass(frozen=True)
class Columns:
    """What the columns are for."""

    sensitive: Annotated[
        list[str],
        typer.Option(
            metavar="COLUMN",
            help="The protected column; repeat it for several.",
            show_default=False,
        ),
    ]
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="What is to be predicted.")
    ] = None
    task: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="The task of a row: a job, a county."),
    ] = None
    weight: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="How much a row counts.")
    ] = None
    bins: Annotated[
        int | None,
        typer.Option(min=2, help="Cut protected numbers into so many groups."),
    ] = None
    intersect: Annotated[
        bool, typer.Option("--intersect", help="Take combinations of groups.")
    ] = False

    def roles(self, **more: Any) -> Any:
        """What the reader and the estimators have to know."""
        from rankfair.jobs.columns import Roles

        return Roles(
            target=self.target,
            sensitive=tuple(self.sensitive),
            tasks=tuple(self.task or ()),
            weight=self.weight,
            binned=self.bins is not None,
            **more,
        )


@dataclass(frozen=True)
class Model:
    """What a model is asked for."""

    epsilon: Annotated[
        float, typer.Option(min=0.0, help="Half width of the band around AUC 1/2.")
    ] = 0.01
    balance: Annotated[
        list[str] | None,
        typer.Option(help="rank, mean, residual or distribution; repeat for several."),
    ] = None
    scope: Annotated[str, typer.Option(help="global, task or both.")] = "global"
    penalty: Annotated[str, typer.Option(help="task, feature, shared or ridge.")] = (
        "task"
    )
    beta: Annotated[
        str, typer.Option(help="Weight of the penalty, or auto: by cross-validation.")
    ] = "1.0"
    blind: Annotated[
        bool, typer.Option("--blind", help="Do not predict from the protected column.")
    ] = False
    feature: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Predict from these columns alone."),
    ] = None
    drop: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Do not predict from this column."),
    ] = None
    max_categories: Annotated[
        int, typer.Option(min=2, help="The most categories of a column of text.")
    ] = 50
    seed: Annotated[int, typer.Option(min=0, help="Seed of all that is random.")] = 0

    def settings(self, columns: Columns) -> Any:
        """What the estimator has to know."""
        from rankfair.jobs.fits import Settings

        return Settings(
            epsilon=self.epsilon,
            balance=tuple(self.balance or ("rank",)),
            scope=self.scope,
            penalty=self.penalty,
            beta=_beta(self.beta),
            blind=self.blind,
            intersect=columns.intersect,
            bins=columns.bins,
            seed=self.seed,
        )

    def more_roles(self) -> dict[str, Any]:
        """Which columns are predictors."""
        only = None if self.feature is None else tuple(self.feature)
        return {"features": only, "drop": tuple(self.drop or ())}


@dataclass(frozen=True)
class Out:
    """Where the answer goes."""

    html: Annotated[
        Path | None,
        typer.Option(dir_okay=False, metavar="FILE", help="Write the page there."),
    ] = None
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON instead of a table.")
    ] = False
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Show no progress and no notes.")
    ] = False


def _beta(given: str) -> float | None:
    if given == "auto":
        return None
    try:
        return float(given)
    except ValueError:
        raise typer.BadParameter(
            f"a number or auto, got {given!r}", param_hint="--beta"
        ) from None
