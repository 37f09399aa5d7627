"""The two tables in the paper's layout: a summary in, Markdown out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paper.cells import CV, HELD_OUT, PATH, STEPS, TABLE, TRAIN
from paper.methods import OURS, PAPERS
from paper.printed import METRICS, printed
from paper.settings import REAL, SYNTHETIC, title_of
from paper.summary import Failure, Summary

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
COLUMNS = {"the paper's columns": [*PAPERS], "further columns of ours": [*OURS]}
TABLES = {"Table II. Synthetic data": SYNTHETIC, "Table III. Real data": REAL}
FAILED = {
    CV: "cross-validation of {}",
    TABLE: "{}",
    PATH: "{} along ε",
    STEPS: "the steps of {}",
}
# The target has no error and no residuals.
EMPTY = {("Data", "rmse"), ("Data", "br")}
NOTES = (
    "In each cell: ours, and below it in parentheses the value the paper prints. ± is "
    "the standard deviation over repeats; a figure without it is one run. The best of "
    "the paper's columns is bold, as in the paper, but never one that errs like a "
    "constant (RMSE 1) or that failed in a repeat.",
    "Our AUC is shown as max(AUC, 1 − AUC) and our IRR as min(IRR, 1/IRR), the common "
    "form of the paper's two orientations; the records hold both as measured, and the "
    "values of the paper stand as printed. MD and BR are group A less group B, in "
    "standard deviations of the target.",
    "Rows without “held out” are measured on the rows of the fit, as the paper appears "
    "to do; held-out rows were seen by no fit that predicts them.",
)


def tables_of(summary: Summary, data: Sequence[str], missing: Mapping[str, str]) -> str:
    """Return the tables that some datasets belong to, as Markdown.

    Each is followed by our own columns.  `missing` says why a dataset is not there.
    """
    parts = []
    for head, members in TABLES.items():
        chosen = [name for name in members if name in data]
        for tail, columns in COLUMNS.items() if chosen else ():
            lines = [
                f"### {head}: {tail}\n",
                f"| | {' | '.join(columns)} |",
                "|---" * (len(columns) + 1) + "|",
            ]
            for name in chosen:
                lines += _block(summary, name, columns, missing)
            parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _block(
    summary: Summary, data: str, columns: Sequence[str], missing: Mapping[str, str]
) -> list[str]:
    """The lines of one dataset."""
    blank = " |" * len(columns)
    lines = [f"| **{plain(_heading(summary, data))}** |{blank}"]
    if data in missing:
        return [*lines, f"| not run: {plain(missing[data])} |{blank}"]
    for label, metric, rows in LINES:
        cells = (_cell(summary, data, name, metric, rows) for name in columns)
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return lines


def _heading(summary: Summary, data: str) -> str:
    rows = summary.rows(data, "Data")
    if not rows:
        return title_of(data)
    first = rows[0]
    chosen, untuned = summary.choices(data), summary.untuned(data)
    tail = f"; cross-validation of {', '.join(untuned)} failed" if untuned else ""
    return (
        f"{title_of(data)} ({first['n']} rows, |A| = {first['n_a']}; penalty "
        f"{chosen.penalty}, β = {chosen.beta:g}, ε = {chosen.epsilon:g}{tail})"
    )


def _cell(summary: Summary, data: str, method: str, metric: str, rows: str) -> str:
    """Our figure, and the paper's below it."""
    ours = _ours(summary, data, method, metric, rows)
    theirs = printed(data, method, metric) if rows == TRAIN else None
    return ours if theirs is None else f"{ours}<br>({number(*theirs)})"


def _ours(summary: Summary, data: str, method: str, metric: str, rows: str) -> str:
    stat = None
    if (method, metric) not in EMPTY:
        stat = summary.shown(data, method, metric, rows)
    failed = summary.failed(data, method)
    if stat is None:
        return "failed" if failed else "–"
    text = number(stat.mean, stat.sd)
    if failed:
        text += f", {len(failed)} of {summary.repeats(data, method)} failed"
    bold = (
        metric in METRICS and rows == TRAIN and method == _best(summary, data, metric)
    )
    return f"**{text}**" if bold else text


def _best(summary: Summary, data: str, metric: str) -> str | None:
    """The method in bold, as in the paper: among its columns, on training rows.

    Never one that failed in a repeat.
    """
    names = [it for it in PAPERS if it != "Data" and not summary.failed(data, it)]
    found = summary.best(data, names, metric)
    return None if found is None else found[0]


def number(mean: float, sd: float | None = None) -> str:
    """Return a figure with three digits, and its standard deviation if it has one.

    Examples
    --------
    >>> number(0.5), number(-0.0004, 0.01)
    ('0.500', '0.000 ± 0.010')
    """
    # A zero has no sign.
    text = f"{mean:z.3f}"
    return text if sd is None else f"{text} ± {sd:.3f}"


def describe_failure(failure: Failure) -> str:
    """Return a sentence about something that could not be run.

    Examples
    --------
    >>> describe_failure(Failure("table", "wine", "SDBC", "no luck", (0, 3)))
    'Wine, SDBC (repeats 0, 3) failed: no luck'
    """
    what = FAILED[failure.kind].format(failure.method)
    if failure.kind in (TABLE, PATH):
        times = dict.fromkeys(failure.repeats)
        what += f" (repeat{'s' * (len(times) > 1)} {', '.join(map(str, times))})"
    return f"{title_of(failure.data)}, {what} failed: {failure.why}"


def plain(text: str) -> str:
    """Return text that stays text in Markdown, in a cell of a table too.

    Examples
    --------
    >>> print(plain("a | b < c_d"))
    a \\| b \\< c\\_d
    """
    for sign in "\\|<>*_`[]":
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.split())
