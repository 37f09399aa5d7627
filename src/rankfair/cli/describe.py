"""What `rankfair describe` says of a model file, as text or as a card in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import Any

from rankfair.audit.records import Audit, Comparison
from rankfair.audit.summary import interval, number
from rankfair.files.archive import fits
from rankfair.input.errors import counted, printable
from rankfair.stats.estimate import Estimate

# What `rankfair fit` keeps for the card beside the columns, as JSON.
REPORT: dict[str, Any] = {
    "measured": str,
    "n_rows": int,
    "references": dict[str, str],
    "comparisons": list[dict[str, str]],
    "versions": dict[str, str],
}
MEASURES = {
    "auc": "AUC",
    "within_task_auc": "AUC within tasks",
    "mean_difference": "mean difference",
    "ks": "KS",
}
HEAD = ("model", "groups", "rows", *MEASURES.values())
PACKAGES = ("rankfair", "scikit-learn", "numpy", "scipy")
MOST = 30  # labels that are listed
MEANING = {
    "rank_auc": "AUC on training rows, 1/2 is parity",
    "loo_auc": "AUC on training rows, each predicted by the fit without it",
    "proxy_auc": "AUC at which the predictors tell the groups apart",
    "n_unknown": "training rows of unknown group",
}
_SIGNS = re.compile(r"([\\`*_{}\[\]<>()#+!|~&])")
NO_REPORT = "The file has no report on other rows: audit the model on new ones."
LIMITS = (
    "Ranks are equal over all rows together. They can differ within tasks, at the top "
    "or the bottom of the ranking, and between groups that are not listed here.",
    "The figures are of rows like those of training. Measure new rows before use, and "
    "again later: `rankfair audit NEW.csv --model FILE`.",
    "Equal ranks say nothing about why the target differs between the groups, and "
    "nothing about causes.",
)
Facts = dict[str, Any]


def report_of(
    audit: Audit, comparisons: Sequence[Comparison], measured: str, n_rows: int
) -> dict[str, Any]:
    """Return what the card of a model file says of an audit, as plain JSON types."""
    lines = [
        {
            "model": each.model,
            "groups": f"{each.sensitive_feature}: {each.group} v {each.against}",
            "rows": f"{each.n_group} v {each.n_against}",
            **{MEASURES[name]: _figure(each.measures[name]) for name in MEASURES},
        }
        for each in comparisons
    ]
    return {
        "measured": measured,
        "n_rows": n_rows,
        "references": {it.name: it.reference for it in audit.sensitive_features},
        "comparisons": lines,
        "versions": {name: version(name) for name in PACKAGES},
    }


def _figure(of: Estimate) -> str:
    return f"{number(of)} ({interval(of)})" if of.estimable else number(of)


def words_of(found: dict[str, Any]) -> Iterator[str]:
    """Return lines on what `describe_model` found, for people."""
    target, _, sections = _read(found)
    yield f"{found['estimator']} of {target}"
    yield from found["notes"].splitlines()
    for title, facts in sections.items():
        width = max(map(len, facts))
        yield from ("", title)
        for name, value in facts.items():
            yield f"  {name.ljust(width)}  {_shown(value)}"


def card_of(found: dict[str, Any]) -> Iterator[str]:
    """Return the same as a card in Markdown, with the limits of use."""
    target, report, sections = _read(found)
    yield f"# Model card: {_text(target)}"
    if found["notes"]:
        yield from ("", _text(found["notes"]))
    yield from ("", "## Gap", "")
    if report:
        rows = _text(report["measured"])
        yield f"{rows} unless a line says else, with 95 % confidence intervals."
        yield "Before is the same model without the constraint, after is this model."
        yield ""
        cells = [[line.get(name) for name in HEAD] for line in report["comparisons"]]
        for row in (HEAD, ["---"] * len(HEAD), *cells):
            yield f"| {' | '.join(map(_text, row))} |"
    else:
        yield NO_REPORT
    yield from ("", "## Limits of use", "", *(f"- {each}" for each in LIMITS))
    if (found["achieved"] or {}).get("status_") == "infeasible":
        yield "- No fit reached the band: the gap is larger than was asked for."
    versions = report.get("versions") or {"rankfair": found["rankfair"]}
    for title, facts in {**sections, "Versions": _facts(versions)}.items():
        yield from ("", f"## {title}", "")
        yield from (f"- {_text(name)}: {_text(value)}" for name, value in facts.items())


def _read(found: dict[str, Any]) -> tuple[str, dict[str, Any], dict[str, Facts]]:
    """Return what is predicted, the report of the fit, and the sections of both."""
    params, reached = found["params"] or {}, found["achieved"] or {}
    extra = found["extra"] if isinstance(found["extra"], dict) else {}
    sound = all(fits(extra.get(key), kind) for key, kind in REPORT.items())
    report = extra if sound else {}
    size = f"{found['bytes']:,} bytes"
    data: Facts = {"made by": f"rankfair {found['rankfair']}", "size": size}
    if report:
        data["training rows"] = f"{report['n_rows']:,}"
    for each in found["columns"]:
        data.setdefault(each["role"], []).append(each["name"])
    tasks = [*(found["tasks"] or ())]
    if params.get("tasks") is not None or tasks not in ([], [0]):
        data[counted(len(tasks), "task")] = tasks
    named = found["groups"] or {}
    named = named if isinstance(named, dict) else {"groups": named}
    sections = {
        "Data": data,
        "Groups": named or {"none": "the model is not constrained"},
        "Reached on training rows": _facts(reached),
        "Settings": _facts(params),
    }
    known = {title: facts for title, facts in sections.items() if facts}
    target = extra.get("target")
    return target if isinstance(target, str) else "a number", report, known


def _facts(pairs: dict[str, Any]) -> Facts:
    names = {name: name.rstrip("_") for name in sorted(pairs)}
    return {MEANING.get(said, said): pairs[name] for name, said in names.items()}


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        more = f" and {len(value) - MOST} more" if len(value) > MOST else ""
        return ", ".join(map(_shown, value[:MOST])) + more
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else str(value)


def _text(value: Any) -> str:
    """Return text in one line that Markdown shows as it is."""
    line = " ".join(printable(_shown(value), keep="\n").split())
    return _SIGNS.sub(r"\\\1", line)
