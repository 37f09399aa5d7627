"""The model card that `rankfair describe --card` prints: Markdown of a model file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

from rankfair.audit import Audit
from rankfair.files.codec import fits
from rankfair.input.errors import printable

# What `rankfair fit` keeps for the card beside the columns, as JSON.
REPORT: dict[str, Any] = {
    "measured": str,
    "n_rows": int,
    "comparisons": list[dict[str, str | int | float | None]],
    "versions": dict[str, str],
}
MEASURES = ("auc", "within_task_auc", "mean_difference", "ks")
ENDS = ("ci_low", "ci_high")
HEAD = "| model | groups | rows | AUC | AUC within tasks | mean difference | KS |"
RULE = "|---|---|---|---|---|---|---|"
PACKAGES = ("rankfair", "scikit-learn", "numpy", "scipy")
MOST = 30  # labels that are listed
_SIGNS = re.compile(r"([\\`*_{}\[\]<>()#+!|~&])")
UNLIKE = (
    "Ranks are equal over all rows together. They can differ within tasks, at the top "
    "or the bottom of the ranking, and between groups that are not listed here.",
    "The figures are of rows like those of training. Measure new rows before use, and "
    "again later: `rankfair audit NEW.csv --model FILE`.",
    "Equal ranks say nothing about why the target differs between the groups, and "
    "nothing about causes.",
)


def report_of(found: Audit, measured: str, n_rows: int) -> dict[str, Any]:
    """Return what the card of a model file says of an audit, as plain JSON types."""
    lines = []
    for each in found.comparisons:
        line: dict[str, Any] = {
            "model": each.model,
            "groups": f"{each.sensitive_feature}: {each.group} v {each.against}",
            "rows": f"{each.n_group} v {each.n_against}",
        }
        for name in MEASURES:
            own = each.measures[name]
            for end in ("value", *ENDS):
                number = getattr(own, end)
                line[f"{name}_{end}"] = number if number == number else None
        lines.append(line)
    return {
        "measured": measured,
        "n_rows": n_rows,
        "comparisons": lines,
        "versions": {name: version(name) for name in PACKAGES},
    }


def card_of(found: dict[str, Any]) -> str:
    """Return the card of what `describe_model` found."""
    extra = found["extra"] if isinstance(found["extra"], dict) else {}
    known = all(fits(extra.get(key), kind) for key, kind in REPORT.items())
    report = extra if known else {}
    target = extra.get("target")
    name = target if isinstance(target, str) else "a number"
    parts = [f"# Model card: {_text(name)}", ""]
    if found["notes"]:
        parts += [_text(found["notes"]), ""]
    for title, lines in (
        ("Data", _data(found, report, name)),
        ("Groups", _groups(found)),
        ("Constraint", _constraint(found)),
        ("Gap", _gap(found, report)),
        ("Limits of use", _limits(found)),
        ("Versions", _versions(found, report)),
    ):
        parts += [f"## {title}", "", *lines, ""]
    return "\n".join(parts).rstrip()


def _data(found: dict[str, Any], report: dict[str, Any], target: str) -> Iterator[str]:
    yield f"- Model: {_text(found['estimator'])}, predicts {_text(target)}"
    if report:
        yield f"- Rows fitted: {report['n_rows']:,}"
    for role in dict.fromkeys(each["role"] for each in found["columns"]):
        own = [each["name"] for each in found["columns"] if each["role"] == role]
        yield f"- {_text(role).capitalize()}: {_listed(own)}"
    if _params(found).get("tasks") is not None:
        yield f"- Tasks: {len(found['tasks'])} ({_listed(found['tasks'])})"


def _groups(found: dict[str, Any]) -> Iterator[str]:
    groups = found["groups"] or {}
    named = groups if isinstance(groups, dict) else {"Groups": groups}
    for name, labels in named.items():
        yield f"- {_text(name)}: {_listed(labels)}"
    if not named or not groups:
        yield "- None: the model is not constrained."
    unknown = (found["achieved"] or {}).get("n_unknown_")
    if unknown and not isinstance(unknown, dict):
        yield f"- Training rows of unknown group: {_text(unknown)}"
    blind = _params(found).get("blind")
    if blind is not None:
        yield f"- Used to predict: {'no' if blind else 'yes'}"


def _constraint(found: dict[str, Any]) -> Iterator[str]:
    params, achieved = _params(found), found["achieved"] or {}
    for name in ("constraints", "epsilon", "side", "scope", "count", "penalty"):
        if name in params:
            yield f"- {name}: {_text(params[name])}"
    if "status_" in achieved:
        yield f"- Status of the fit: {_text(achieved['status_'])}"


def _gap(found: dict[str, Any], report: dict[str, Any]) -> Iterator[str]:
    achieved = found["achieved"] or {}
    for name, said in (
        ("rank_auc_", "AUC on training rows"),
        ("loo_auc_", "AUC on training rows, each predicted by the fit without it"),
        ("proxy_auc_", "AUC at which the predictors tell the groups apart"),
    ):
        if isinstance(achieved.get(name), float):
            yield f"- {said} (1/2 is parity): {achieved[name]:.3f}"
    if not report:
        yield ""
        yield "The file has no report on other rows: audit the model on new ones."
        return
    yield ""
    yield f"{_text(report['measured'])}, with 95 % confidence intervals; before is the "
    yield "same model without the constraint, after is this model."
    yield from ("", HEAD, RULE)
    for line in report["comparisons"]:
        cells = [_text(line.get(name)) for name in ("model", "groups", "rows")]
        cells += [_interval(line, name) for name in MEASURES]
        yield f"| {' | '.join(cells)} |"


def _limits(found: dict[str, Any]) -> Iterator[str]:
    yield from (f"- {each}" for each in UNLIKE)
    if (found["achieved"] or {}).get("status_") == "infeasible":
        yield "- No fit reached the band: the gap is larger than was asked for."
    if _params(found).get("unseen") == "error" and len(found["tasks"] or ()) > 1:
        yield "- Tasks that training did not have are refused."


def _versions(found: dict[str, Any], report: dict[str, Any]) -> Iterator[str]:
    known = report.get("versions") or {"rankfair": found["rankfair"]}
    yield from (f"- {_text(name)} {_text(it)}" for name, it in known.items())


def _params(found: dict[str, Any]) -> dict[str, Any]:
    params: dict[str, Any] = found["params"] or {}
    return params


def _interval(line: dict[str, Any], name: str) -> str:
    value, low, high = (line.get(f"{name}_{end}") for end in ("value", *ENDS))
    if not isinstance(value, float | int):
        return "–"
    if not isinstance(low, float | int) or not isinstance(high, float | int):
        return f"{value:.3f}"
    return f"{value:.3f} ({low:.3f} to {high:.3f})"


def _listed(labels: Any) -> str:
    every = list(labels)
    more = f" and {len(every) - MOST} more" if len(every) > MOST else ""
    return ", ".join(map(_text, every[:MOST])) + more


def _text(value: Any) -> str:
    """Return text in one line that Markdown shows as it is."""
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    shown = f"{value:.6g}" if isinstance(value, float) else str(value)
    return _SIGNS.sub(r"\\\1", " ".join(printable(shown, keep="\n").split()))
