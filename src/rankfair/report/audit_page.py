"""The page of an audit: its records as sections, each with a template of its own.

A new section is a function in `SECTIONS` that returns views, and the template that each
view names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rankfair.audit.summary import without_gap
from rankfair.report import text, words
from rankfair.report.distributions import panels
from rankfair.report.gap_sections import (
    bands_sections,
    in_short,
    parts_sections,
    units_sections,
)
from rankfair.report.page import about, environment, fill
from rankfair.report.privacy import without_small
from rankfair.report.tasks import forest
from rankfair.report.text import View

if TYPE_CHECKING:
    from rankfair.audit.records import Audit, Comparison, SensitiveFeature

ByModel = dict[str, "Comparison"]


def render(audit: Audit, suppress: int = 5, first: Sequence[str] = ()) -> str:
    """Return an audit as one HTML page that needs no other file and no network.

    Names are escaped, control characters are spelt out, and the content policy of the
    page allows only its own style and script.

    Parameters
    ----------
    audit : Audit
        The records.
    suppress : int, default=5
        Groups and tasks of fewer rows are not shown; see `Audit.to_html`.
    first : sequence of str, default=()
        Sentences before the verdict.

    Returns
    -------
    str
        A whole HTML document.

    Examples
    --------
    >>> from rankfair import audit
    >>> found = audit(None, [3.0, 1.0, 2.0], sensitive_features=["M", "F", "<b>"])
    >>> page = render(found, suppress=1)
    >>> page.count("Content-Security-Policy"), "<b>" in page, "&lt;b&gt;" in page
    (1, False, True)
    """
    return fill("audit.html.j2", view(audit, suppress, first=first))


def render_fragment(audit: Audit) -> str:
    """Return an audit for a notebook: verdict, a small table, and the page folded.

    The table has no style and no script.  The page is in a frame that can reach nothing
    else.

    Parameters
    ----------
    audit : Audit
        The records.

    Returns
    -------
    str
        A part of an HTML document.

    Examples
    --------
    >>> from rankfair import audit
    >>> found = audit(None, [3.0, 1.0], sensitive_features=["M", "F"], title="Pay")
    >>> "<strong" in render_fragment(found)
    True
    """
    shortened = view(audit, most_tasks=1_000)
    page = fill("audit.html.j2", shortened)
    return environment().get_template("fragment.html.j2").render(shortened, page=page)


def view(
    audit: Audit,
    suppress: int = 5,
    most_tasks: int = 20_000,
    first: Sequence[str] = (),
) -> View:
    """Return everything that ``audit.html.j2`` shows, as text, numbers and lists."""
    lone = without_gap(audit)
    audit, hidden = without_small(audit, suppress)
    made, longest = audit.provenance, max(map(len, audit.model_names), default=0)
    tasks = forest(audit, most_tasks)
    sections = [
        *(found for make in SECTIONS for found in make(audit)),
        *([] if tasks is None else [tasks]),
        *(found for make in APPENDIX for found in make(audit)),
    ]
    # An audit of one column alone is called by its name.
    alone = len(audit.models) == 1 and not _has_target(audit)
    missing = [
        f"{text.number_of(feature.n_missing)} without {feature.name}"
        for feature in audit.sensitive_features
        if feature.n_missing
    ]
    least = ("Smallest group judged", text.number_of(audit.min_group))
    return {
        **about(made, audit.confidence, missing, [least]),
        "title": audit.title,
        "suppress": suppress,
        "verdict": text.tied(" ".join([*first, audit.verdict])),
        "short": in_short(audit),
        "of_reading": [note for note in (*made.notes, lone, hidden) if note],
        "models": list(audit.model_names),
        # Of a column of model names, in characters: an even number.
        "names_width": min(max(4, longest + longest % 2), 16),
        "sections": sections,
        "task_data": "" if tasks is None else tasks["json"],
        "has_target": _has_target(audit),
        "what": audit.model_names[0] if alone else "",
    }


def _has_target(audit: Audit) -> bool:
    """Whether the audit knows a target."""
    return any(
        not math.isnan(group.mean_target)
        for feature in audit.sensitive_features
        for group in feature.groups
    )


def _pairs(audit: Audit, feature: SensitiveFeature) -> list[ByModel]:
    """Return the comparisons of a feature: for each pair of groups, by model."""
    found: dict[tuple[str, str], ByModel] = {}
    for each in audit.comparisons:
        if each.sensitive_feature == feature.name:
            found.setdefault((each.group, each.against), {})[each.model] = each
    return list(found.values())


def _features(audit: Audit) -> list[View]:
    """Every sensitive feature: its groups, their pictures, and its comparisons."""
    return [
        _feature(audit, feature, number)
        for number, feature in enumerate(audit.sensitive_features, 1)
    ]


def _feature(audit: Audit, feature: SensitiveFeature, number: int) -> View:
    pairs = _pairs(audit, feature)
    aucs = (c.auc for by_model in pairs for c in by_model.values())
    x, marks = text.axis(*text.around_half(text.numbers_of(aucs)))
    drawn, groups = panels(audit, feature), feature.groups
    # All means have the same decimals.
    means = iter(
        text.alike([g.mean_predicted[m] for g in groups for m in audit.model_names])
    )
    return text.section(
        "feature",
        feature.name,
        number,
        feature=feature,
        colours={s.group: s.colour for panel in drawn for s in panel.shapes},
        targets=text.alike([group.mean_target for group in groups]),
        means=[[next(means) for _ in audit.models] for _ in groups],
        panels=drawn,
        axis=marks,
        half=x(0.5),
        comparisons=[
            {
                "pair": next(iter(by_model.values())),
                "strips": [text.strip(c.auc, x, c.model) for c in by_model.values()],
                "aucs": [
                    text.cell(c.auc, confidence=audit.confidence, most=0.5)
                    for c in by_model.values()
                ],
            }
            for by_model in pairs
        ],
    )


def _figures(audit: Audit) -> list[View]:
    """All errors, and all figures of the comparisons with the largest gaps."""
    known = _has_target(audit)
    features = [
        {"name": f.name, "n_comparisons": len(pairs), "tables": _largest_gaps(pairs)}
        for f in audit.sensitive_features
        for pairs in (_pairs(audit, f),)
    ]
    # Without a target there are no residuals.
    metrics = [m for m in words.METRICS if known or m.field != "balanced_residuals"]
    models = audit.models if known else ()
    figures = text.section("figures", "All figures", errors=words.ERRORS)
    return [figures | {"of_models": models, "features": features, "metrics": metrics}]


def _largest_gaps(pairs: list[ByModel], most: int = 24) -> list[ByModel]:
    """The comparisons with the largest gaps of the last model, in their order."""

    def gap(place: int) -> float:
        last = list(pairs[place].values())[-1].gap
        return -1.0 if math.isnan(last) else last

    kept = sorted(range(len(pairs)), key=gap, reverse=True)[:most]
    return [pairs[place] for place in sorted(kept)]


def _method(audit: Audit) -> list[View]:
    """How to read the figures, and how they were made."""
    names_of: dict[tuple[str, ...], list[str]] = {}  # figures that share their methods
    for metric in words.METRICS:
        ways = dict.fromkeys(getattr(c, metric.field).method for c in audit.comparisons)
        known = tuple(filter(None, ways))
        if known:
            names_of.setdefault(known, []).append(metric.plain_name)
    methods = [(", ".join(names), ways) for ways, names in names_of.items()]
    return [text.section("method", "Method", least=audit.min_group, methods=methods)]


def _caveats(audit: Audit) -> list[View]:
    return [text.section("caveats", "Caveats")]


SECTIONS: tuple[Callable[[Audit], list[View]], ...] = (
    bands_sections,
    units_sections,
    parts_sections,
    _features,
)
APPENDIX = (_figures, _method, _caveats)
