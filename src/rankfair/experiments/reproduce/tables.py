"""The two tables in the paper's layout: a summary in, cells of text out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rankfair.experiments.records import HELD_OUT, TRAIN
from rankfair.experiments.reproduce.cells import CV, PATH, STEPS, TABLE
from rankfair.experiments.reproduce.methods import OURS, PAPERS
from rankfair.experiments.reproduce.printed import printed
from rankfair.experiments.reproduce.settings import SYNTHETIC, TABLES
from rankfair.experiments.reproduce.summary import IDEAL, Failure, Stat, Summary

__all__ = [
    "Block",
    "Entry",
    "Line",
    "Table",
    "describe_failure",
    "make_tables",
    "number",
    "title_of",
]

# Label, metric, rows; the first four are the paper's.
LINES = (
    ("AUC", "auc", TRAIN),
    ("MD", "md", TRAIN),
    ("BR", "br", TRAIN),
    ("IRR", "irr", TRAIN),
    ("RMSE", "rmse", TRAIN),
    ("KS", "ks", TRAIN),
    ("Wasserstein", "wasserstein", TRAIN),
    ("RMSE, held out", "rmse", HELD_OUT),
    ("AUC, held out", "auc", HELD_OUT),
)
NUMERALS = {2: "II", 3: "III"}
CAPTIONS = {2: "Synthetic data", 3: "Real data"}
KINDS = {
    CV: "cross-validation of {}",
    TABLE: "{}",
    PATH: "{} along ε",
    STEPS: "the steps of {}",
}
# The target has no error and no residuals.
EMPTY = {("Data", "rmse"), ("Data", "br")}


class Entry(NamedTuple):
    """A cell: our figure, the paper's, the figure as measured, whether it is best."""

    text: str
    printed: str = ""
    raw: str = ""
    best: bool = False


class Line(NamedTuple):
    """A row of a table."""

    label: str
    entries: tuple[Entry, ...]


class Block(NamedTuple):
    """The rows of one dataset, or why there are none."""

    title: str
    lines: tuple[Line, ...]
    missing: str = ""


class Table(NamedTuple):
    """One table of the paper, or its continuation with columns of ours."""

    caption: str
    columns: tuple[str, ...]
    blocks: tuple[Block, ...]


def make_tables(
    summary: Summary, data: Sequence[str], missing: Mapping[str, str]
) -> list[Table]:
    """Return the tables that some datasets belong to, each followed by our columns.

    Parameters
    ----------
    summary : Summary
        Of the records.
    data : sequence of str
        The datasets asked for.
    missing : mapping
        Why a dataset is not there.

    Returns
    -------
    list of Table

    Examples
    --------
    >>> first, second = make_tables(Summary([]), ["wine"], {"wine": "no file"})
    >>> first.columns[:3], first.blocks[0].missing
    (('Data', 'Rank', 'SSEM s=2'), 'no file')
    """
    found = []
    for table, members in TABLES.items():
        chosen = [name for name in members if name in data]
        if not chosen:
            continue
        head = f"Table {NUMERALS[table]}. {CAPTIONS[table]}"
        for columns, tail in (
            (tuple(PAPERS), "the paper's columns"),
            (tuple(OURS), "further columns of ours"),
        ):
            blocks = tuple(_block(summary, it, columns, missing) for it in chosen)
            found.append(Table(f"{head}: {tail}", columns, blocks))
    return found


def title_of(data: str) -> str:
    """Return how a dataset is called on pages.

    Examples
    --------
    >>> title_of("synthetic 0.9"), title_of("wine")
    ('Synthetic, α = 0.9', 'Wine')
    """
    if data in SYNTHETIC:
        return f"Synthetic, α = {data.split()[1]}"
    return data.capitalize()


def number(mean: float, sd: float | None = None) -> str:
    """Return a figure with three digits, and its standard deviation if it has one.

    Examples
    --------
    >>> number(0.5), number(-0.0004, 0.01)
    ('0.500', '0.000 ± 0.010')
    """
    # A zero has no sign.
    text = f"{mean:.3f}".replace("-0.000", "0.000")
    return text if sd is None else f"{text} ± {sd:.3f}"


def describe_failure(failure: Failure) -> str:
    """Return a sentence about something that could not be run.

    Examples
    --------
    >>> describe_failure(Failure("table", "wine", "SDBC", "no luck", (0, 3)))
    'Wine, SDBC (repeats 0, 3) failed: no luck'
    >>> describe_failure(Failure("cv", "wine", "epsilon", "no luck", (0,)))
    'Wine, cross-validation of epsilon failed: no luck'
    """
    what = KINDS[failure.kind].format(failure.method)
    if failure.kind in (TABLE, PATH):
        times = dict.fromkeys(failure.repeats)
        what += f" (repeat{'s' * (len(times) > 1)} {', '.join(map(str, times))})"
    return f"{title_of(failure.data)}, {what} failed: {failure.why}"


def _block(
    summary: Summary, data: str, columns: Sequence[str], missing: Mapping[str, str]
) -> Block:
    if data in missing:
        return Block(title_of(data), (), missing[data])
    lines = tuple(
        Line(
            label,
            tuple(_entry(summary, data, name, metric, rows) for name in columns),
        )
        for label, metric, rows in LINES
    )
    return Block(_heading(summary, data), lines)


def _heading(summary: Summary, data: str) -> str:
    rows = summary.rows(data, "Data")
    if not rows:
        return title_of(data)
    first = rows[0]
    chosen, untuned = summary.choices(data), summary.untuned(data)
    tail = f"; cross-validation of {', '.join(untuned)} failed" if untuned else ""
    return (
        f"{title_of(data)} ({first['n']} rows, |A| = {first['n_a']}; penalty "
        f"{chosen['penalty']}, β = {chosen['beta']:g}, ε = {chosen['epsilon']:g}{tail})"
    )


def _entry(summary: Summary, data: str, method: str, metric: str, rows: str) -> Entry:
    stat = None
    if (method, metric) not in EMPTY:
        stat = summary.shown(data, method, metric, rows)
    theirs = printed(data, method, metric) if rows == TRAIN else None
    beside = "" if theirs is None else number(*theirs)
    failed = summary.failed(data, method)
    if stat is None:
        return Entry(
            "failed" if failed else "–", beside, "; ".join(dict.fromkeys(failed))
        )
    raw = summary.stat(data, method, metric, rows)
    assert raw is not None
    text = number(stat.mean, stat.sd)
    if failed:
        text += f", {len(failed)} of {summary.repeats(data, method)} failed"
    best = method in _best(summary, data, metric, rows)
    return Entry(text, beside, _as_measured(raw), best)


def _as_measured(stat: Stat) -> str:
    spread = "" if stat.sd is None else f" ± {stat.sd:.6f}"
    times = "one run" if stat.sd is None else f"{len(stat.values)} repeats"
    return f"as measured: {stat.mean:.6f}{spread}, {times}"


def _best(summary: Summary, data: str, metric: str, rows: str) -> set[str]:
    """The method in bold, as in the paper: among its columns, on training rows.

    Never one that failed in a repeat.
    """
    if metric not in IDEAL or metric == "rmse" or rows != TRAIN:
        return set()
    names = [it for it in PAPERS if it != "Data" and not summary.failed(data, it)]
    found = summary.best(data, names, metric)
    return set() if found is None else {found[0]}
