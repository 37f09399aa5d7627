"""reproduction.md: the tables, figures and claims of a run, with their context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, StrictUndefined
from matplotlib.figure import Figure

from paper.cases import LAST_WEEKS, ROWS_PER_TASK, TRAIN_SHARE
from paper.claims import evaluate
from paper.figures import as_svg, draw_figures
from paper.methods import NARROW, PAPERS
from paper.printed import CLOSE, agreement, printed, residual_identity
from paper.run import Result, write
from paper.settings import DATASETS, Settings, title_of
from paper.summary import Summary
from paper.tables import NOTES, describe_failure, number, plain, tables_of
from paper.tuning import candidates
from rankfair.datasets import income, student, wine

DEFAULT = "default (cross-validation failed)"
HUGE = 2.0  # in standard deviations of y: twice the error of a constant
FLAT = 1e-9


class Parameters(NamedTuple):
    """The parameters of a dataset as text; errors are those of the best β."""

    title: str
    penalty: str
    beta: str
    error_of_task: str
    error_of_shared: str
    beta_paper: str
    epsilon: str
    trade_off: str


class Extremes(NamedTuple):
    """In how many datasets the error alone chose the least fair candidates."""

    largest_epsilon: int
    epsilons: int
    smallest_trade_off: int
    trade_offs: int


def write_page(folder: Path, result: Result) -> list[Path]:
    """Write reproduction.md, and images/reproduction-*.svg if they are asked for."""
    figures: dict[str, Figure] = {}
    if result.settings.figures:
        figures = draw_figures(Summary(result.records), result.there)
    images = folder / "images"
    return [
        write(folder / "reproduction.md", as_page(result, tuple(figures))),
        *(
            write(images / f"reproduction-{name}.svg", as_svg(figure))
            for name, figure in figures.items()
        ),
    ]


def as_page(result: Result, pictures: Sequence[str] = ()) -> str:
    """Return the page as Markdown; every measured number comes from the records.

    `pictures` are names of figures that lie in images/.
    """
    engine = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    engine.filters["plain"] = plain
    source = Path(__file__).with_name("reproduction.md.j2").read_text(encoding="utf-8")
    summary, there = Summary(result.records), result.there
    page = engine.from_string(source).render(
        settings=result.settings,
        command=result.settings.command,
        missing={title_of(name): why for name, why in result.missing.items()},
        failures=[describe_failure(it) for it in summary.failures()],
        claims=evaluate(summary, there) if there else [],
        agreement=agreement(summary, there),
        close=CLOSE,
        tables=tables_of(summary, result.settings.data, result.missing),
        notes=NOTES,
        steps=_last_steps(summary, there),
        pictures=pictures,
        parameters=[_parameters(summary, name) for name in there],
        extremes=_extremes(summary, there, result.settings),
        constants=_constants(summary, there),
        huge=_huge(summary, there),
        huge_limit=HUGE,
        widest=_widest(summary, there),
        **_of_paper(),
        **_fixed(),
    )
    return page + "\n"


def _last_steps(
    summary: Summary, data: Sequence[str]
) -> list[tuple[str, Mapping[str, Any]]]:
    """The last step of the paper's solver in each dataset."""
    found = ((title_of(name), summary.steps(name)) for name in data)
    return [(name, steps[-1]) for name, steps in found if steps]


def _parameters(summary: Summary, data: str) -> Parameters:
    """The parameters of a dataset; where cross-validation failed, this is said."""
    chosen, untuned = summary.choices(data), summary.untuned(data)

    def shown(parameter: str, value: float) -> str:
        if summary.tried(data, parameter):
            return f"{value:g}"
        return DEFAULT if parameter in untuned else "–"

    def least(parameter: str) -> str:
        errors = summary.tried(data, parameter)
        return f"{min(errors.values()):.4f}" if errors else shown(parameter, 0.0)

    known = any(summary.tried(data, it) for it in ("beta", "beta_shared"))
    return Parameters(
        title_of(data),
        chosen.penalty if known else shown("beta", 0.0),
        f"{chosen.beta:g}" if known else shown("beta", 0.0),
        least("beta"),
        least("beta_shared"),
        shown("beta_paper", chosen.beta_paper),
        shown("epsilon", chosen.epsilon),
        shown("trade_off", chosen.trade_off),
    )


def _extremes(summary: Summary, data: Sequence[str], settings: Settings) -> Extremes:
    """Count where the largest ε and the smallest trade-off were chosen."""
    ends = {
        "epsilon": max(candidates("epsilon", settings)),
        "trade_off": min(candidates("trade_off", settings)),
    }
    counts: list[int] = []
    for parameter, end in ends.items():
        tuned = [name for name in data if summary.tried(name, parameter)]
        chosen = [getattr(summary.choices(name), parameter) for name in tuned]
        counts += [chosen.count(end), len(tuned)]
    return Extremes(*counts)


def _constants(summary: Summary, data: Sequence[str]) -> list[str]:
    """Where one of the paper's methods left a constant: RMSE 1 in every repeat."""
    return [
        f"{title_of(name)}: {method}"
        for name in data
        for method in PAPERS
        if summary.most(name, method, "rmse", ideal=1.0) < FLAT
    ]


def _huge(summary: Summary, data: Sequence[str]) -> list[str]:
    """Where SSBR errs more than `HUGE` on training rows, with its RMSE."""
    return [
        f"{title_of(name)}: {method} {number(rmse.mean, rmse.sd)}"
        for name in data
        for method in PAPERS
        if method.startswith("SSBR")
        and (rmse := summary.stat(name, method, "rmse")) is not None
        and rmse.mean > HUGE
    ]


def _widest(summary: Summary, data: Sequence[str]) -> float | None:
    """The largest |MD| of SDBC in any repeat, None if it was not run."""
    ran = [name for name in data if summary.rows(name, "SDBC")]
    return max((summary.most(name, "SDBC", "md") for name in ran), default=None)


def _of_paper() -> dict[str, Any]:
    """What the page says of the printed values."""
    apart = (printed(name, "SDBC", "md") for name in DATASETS)
    data = {it: printed("synthetic 0.9", "Data", it) for it in ("auc", "md", "irr")}
    return {
        "identity": residual_identity(DATASETS),
        "printed_sdbc": max(abs(cell[0]) for cell in apart if cell is not None),
        "printed_data": {it: cell[0] for it, cell in data.items() if cell},
    }


def _fixed() -> dict[str, Any]:
    """What the code settles and no option changes."""
    return {
        "rows_per_task": ROWS_PER_TASK,
        "held_out_percent": round(100 * (1 - TRAIN_SHARE)),
        "last_weeks": LAST_WEEKS,
        "narrow": NARROW,
        "wine_share": round(100 * wine.SHARE),
        "student_share": round(100 * student.SHARE),
        "factors": (wine.FACTOR, student.FACTOR, income.FACTOR),
        "income_auc": income.BIASED_AUC,
        "income_cut": income.CUT,
    }
