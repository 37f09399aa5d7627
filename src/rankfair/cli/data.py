"""Commands that measure and fit: parse, call one function, show what it returned."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from rankfair.cli.bundles import Columns, Demand, Files, Model, Out, Scheduler
from rankfair.cli.ends import check_outputs, check_sheet, fail, telling
from rankfair.cli.spread import expanded

__all__ = ["audit", "compare", "fit", "path"]

TABLES = (".csv", ".tsv", ".txt", ".parquet", ".pq", ".html")
# The keys of `rankfair.jobs.methods.METHODS`, whose import help cannot wait for.
NAMES = (
    "unconstrained",
    "constant shift",
    "map of ranks",
    "map of distributions",
    "tilt",
    "tilt, ranks and means",
    "NC-ADMM",
    "equal means in strata",
    "balanced residuals in strata",
    "covariance",
)
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


@expanded
def audit(
    columns: Columns,
    prediction: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Predictions; repeat it for several."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Audit the predictions of a model file."),
    ] = None,
    max_gap: MaxGap = None,
    ignore_small: IgnoreSmall = False,
    frequency_weights: Annotated[
        bool,
        typer.Option(
            "--frequency-weights",
            help="A weight is how often a row was seen; else a row is one observation.",
        ),
    ] = False,
    confidence: Annotated[
        float,
        typer.Option(metavar="NUMBER", help="Of all intervals, from 0.5 to below 1."),
    ] = 0.95,
    min_group: Annotated[
        int, typer.Option(min=1, metavar="N", help="Judge no group of fewer rows.")
    ] = 5,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Seed of permutations.")
    ] = 0,
    sheet: Sheet = None,
    *,
    out: Out,
    files: Files,
) -> None:
    """Measure how a prediction or a target ranks the groups.

    Ends with 0, or with --max-gap: 0 held (equality too), 1 exceeded, 3 not estimable.
    2 is bad usage or bad data.

    Example: rankfair audit pay.csv --target pay --sensitive gender --task job --html
    audit.html
    """
    _one_stdout(out, sheet)
    with telling(out.quiet):
        from rankfair.cli import show
        from rankfair.cli.screen import progress
        from rankfair.jobs.audits import audit_files

        check_outputs([out.html, sheet], [*files.files, model or "-"])
        check_sheet(sheet)
        with progress(out.quiet) as on_step:
            found, table = audit_files(
                files.files,
                columns.roles(predictions=tuple(prediction or ())),
                files.reading(),
                model=model,
                bins=columns.bins,
                intersect=columns.intersect,
                frequency_weights=frequency_weights,
                confidence=confidence,
                min_group=min_group,
                random_state=seed,
                command=command_line(),
                title=out.title,
                on_step=on_step,
            )
        gated = show.gated(found, max_gap, ignore_small)
        show.audit(found, out, table.notes, sheet, gated)
        show.gate(found, max_gap, out, sheet, ignore_small)


@expanded
def fit(
    columns: Columns,
    to: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", dir_okay=False, metavar="MODEL", help="The model file."
        ),
    ] = None,
    epsilon: Epsilons = None,
    *,
    demand: Demand,
    model: Model,
    folds: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Folds of the report, 2 or more, where rows cannot be left out of one "
            "fit; 0 reports on the rows fitted.",
        ),
    ] = 5,
    max_gap: MaxGap = None,
    ignore_small: IgnoreSmall = False,
    notes: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="A few words to keep in the model file."),
    ] = None,
    scheduler: Scheduler = None,
    out: Out,
    files: Files,
) -> None:
    """Fit a model that does not rank one group above another.

    The report compares it with the same model without the constraint, on rows that the
    fits behind it have not seen; the model that is kept is fitted to all rows.

    A folder of Parquet files is fitted too. With more than 200,000 rows it is not held
    in memory: then text is not encoded, there is no report, and what is balanced is two
    groups known for all rows, over all rows, by rank, mean or residual.

    Ends with 0, or with --max-gap as audit does. 3: no rows can be held out.

    Example: rankfair fit pay.csv --target pay --sensitive gender --task job -o
    pay.rankfair --html fit.html
    """
    asked = demand.asked(epsilon)
    if folds == 1:
        raise typer.BadParameter("0, or 2 and more", param_hint="--folds")
    with telling(out.quiet):
        from rankfair.cli import show
        from rankfair.cli.screen import progress
        from rankfair.jobs.folders import fit_rows

        check_outputs([to, out.html], files.files)
        if to is not None and to.suffix.lower() in TABLES:
            fail(f"{to} is named like a table: give the model another name.")
        with progress(out.quiet) as on_step:
            done = fit_rows(
                files.files,
                columns.roles(**model.predictors()),
                files.reading(),
                model.settings(columns, **asked),
                scheduler=scheduler,
                needs_report=max_gap is not None or out.html is not None,
                out=to,
                folds=folds,
                cap=model.max_categories,
                notes=notes,
                command=command_line(),
                title=out.title,
                on_step=on_step,
            )
        show.fitted(done, out, show.gated(done.audit, max_gap, ignore_small))
        if done.audit is not None:
            show.gate(done.audit, max_gap, out, ignore_small=ignore_small)


@expanded
def path(
    columns: Columns,
    epsilons: Annotated[
        list[float] | None,
        typer.Option(
            "--at", metavar="EPSILON", help="Try this ε; repeat it; by default twelve."
        ),
    ] = None,
    *,
    demand: Demand,
    model: Model,
    folds: Annotated[
        int | None,
        typer.Option(
            min=2,
            metavar="N",
            help="Folds of the cross-validation; by default each row is left out of "
            "one fit or, where it cannot be, there are 5.",
            show_default=False,
        ),
    ] = None,
    sheet: Sheet = None,
    out: Out,
    files: Files,
) -> None:
    """Show what each ε costs: error and rank gap on rows that a fit has not seen.

    Example: rankfair path pay.csv --target pay --sensitive gender --task job --html
    path.html
    """
    _one_stdout(out, sheet)
    with telling(out.quiet):
        from rankfair.cli import show
        from rankfair.cli.screen import progress
        from rankfair.jobs.paths import path_files

        check_outputs([out.html, sheet], files.files)
        check_sheet(sheet)
        with progress(out.quiet) as on_step:
            done = path_files(
                files.files,
                columns.roles(**model.predictors()),
                files.reading(),
                model.settings(columns, **demand.asked()),
                epsilons=epsilons,
                folds=folds,
                cap=model.max_categories,
                command=command_line(),
                title=out.title,
                on_step=on_step,
            )
        show.priced(done, out, sheet)


@expanded
def compare(
    columns: Columns,
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help=f"Try this method; repeat it; by default all: {'; '.join(NAMES)}.",
        ),
    ] = None,
    epsilon: Epsilon = 0.01,
    *,
    model: Model,
    folds: Folds = 5,
    within: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=0.5,
            metavar="GAP",
            help="Name the method of least error with a rank gap of at most this.",
        ),
    ] = 0.05,
    sheet: Sheet = None,
    out: Out,
    files: Files,
) -> None:
    """Try all methods on one's own data by cross-validation.

    Example: rankfair compare pay.csv --target pay --sensitive gender --task job --html
    methods.html
    """
    _one_stdout(out, sheet)
    with telling(out.quiet):
        from rankfair.cli import show
        from rankfair.cli.screen import progress
        from rankfair.jobs.compares import compare_files

        check_outputs([out.html, sheet], files.files)
        check_sheet(sheet)
        with progress(out.quiet) as on_step:
            done = compare_files(
                files.files,
                columns.roles(**model.predictors()),
                files.reading(),
                model.settings(columns, epsilon=epsilon),
                methods=method,
                folds=folds,
                within=within,
                cap=model.max_categories,
                command=command_line(),
                title=out.title,
                on_step=on_step,
            )
        show.compared(done, out, sheet)


def command_line() -> str:
    """Return the command as it was typed."""
    return shlex.join(["rankfair", *sys.argv[1:]])


def _one_stdout(out: Out, sheet: str | None) -> None:
    if out.as_json and sheet == "-":
        raise typer.BadParameter(
            "a pipe takes the table or --json, not both", param_hint="--out"
        )
