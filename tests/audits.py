"""Audits made up record by record, so that a page can be tested without statistics."""

import itertools
import math

import numpy as np

from rankfair.audit.records import (
    Audit,
    Comparison,
    Group,
    Histogram,
    ModelLine,
    Provenance,
    SensitiveFeature,
    TaskLine,
)
from rankfair.report.methods_page import MethodLine, MethodTable
from rankfair.stats.estimate import Estimate

METHOD = "DeLong's variance on the logit scale"
HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "\"' onmouseover='alert(3)' x=\"",
    "{{ 7 * 7 }}{group}{against}",
    "\u202egnp.exe\u2066 שלום עולם",
    "👩🏽‍🔬 − naïve é",
    "long " * 60 + "x" * 300,
    "a\x00b\u2028c\ud800]]>--><!--",
)


# What pages are tried with, as arguments of `make_audit`.
AUDITS = {
    "two groups, two models": {},
    "one model": {"models": ("prediction",)},
    "many groups, several attributes": {
        "models": ("a", "b", "c", "d", "e"),
        "attributes": (("race", tuple("vwxyz")), ("sex", ("M", "F"))),
    },
    "nothing but predictions": {
        "models": ("m",),
        "n_tasks": 0,
        "target": False,
        "command": None,
    },
    "hostile": {
        "models": HOSTILE[:2],
        "attributes": (
            (HOSTILE[2], HOSTILE),
            (HOSTILE[7], HOSTILE[3:5]),
        ),
        "title": " ".join(HOSTILE),
        "label": HOSTILE[0] + "{}" + HOSTILE[4],
        "command": " ".join(HOSTILE),
    },
}


def estimate(value, half=0.05, p=None, **more):
    return Estimate(value, value - half, value + half, p, METHOD, **more)


def unknown(why="group M has 2 rows, fewer than 5"):
    return Estimate(math.nan, note=why)


def comparison(model, attribute, group, against, kind, shift=0.0, target=True):
    auc = 0.5 + shift
    return Comparison(
        model=model,
        sensitive_feature=attribute,
        group=group,
        against=against,
        kind=kind,
        n_group=412,
        n_against=1388,
        auc=estimate(auc, 0.031, 0.0004 if shift else 0.61),
        within_task_auc=estimate(0.5 + shift / 3, 0.022),
        between_task_auc=estimate(0.5 + shift * 1.2, 0.04),
        mean_difference=estimate(4200 * shift, 310.0, 0.0213),
        balanced_residuals=(
            estimate(-120.5, 200.0) if target else unknown("no target was given")
        ),
        impact_rank_ratio=estimate(1 + 2 * shift, 0.08),
        ks=estimate(abs(1.2 * shift), 0.02, 0.001),
        wasserstein=estimate(abs(4200 * shift), 150.0),
        share_above_median=estimate(0.5 + shift, 0.03),
        share_above_median_against=estimate(0.5 - shift / 3, 0.015),
        impact_ratio=estimate((0.5 + shift) / (0.5 - shift / 3), 0.07),
    )


def histogram(model, attribute, group, centre, bins=40):
    edges = np.linspace(0, 8000, bins + 1)
    middle = (edges[1:] + edges[:-1]) / 2
    shares = np.exp(-0.5 * ((middle - centre) / 900) ** 2) + 0.4 * np.exp(
        -0.5 * ((middle - centre - 1600) / 500) ** 2
    )
    # A little unevenness, as counts have it.
    shares *= 1 + 0.15 * np.sin(middle * centre)
    return Histogram(
        model, attribute, group, tuple(edges.tolist()), tuple(shares / shares.sum())
    )


def attribute(name, groups, models, target=True, **more):
    each = list(enumerate(models))
    made = tuple(
        Group(
            label=g,
            n_rows=400 + 988 * i,
            weight=400.0,
            mean_target=3000.0 if target else math.nan,
            mean_predicted={m: 3500.0 - 250 * i + 200 * j * i for j, m in each},
            share_above_median={m: 0.6 - 0.15 * i / (1 + 3 * j) for j, m in each},
            impact_ratio={m: 1 - 0.25 * i / (1 + 3 * j) for j, m in each},
        )
        for i, g in enumerate(groups)
    )
    return SensitiveFeature(
        name,
        made,
        **{"n_missing": 0, "constant_in_tasks": False, **more},
    )


def compared(groups):
    """Return who is compared with whom: two groups once, more by rest and by pair."""
    if len(groups) == 2:
        return [(groups[1], groups[0], "pair")]
    rest = [(g, "the rest", "rest") for g in groups]
    return rest + [(b, a, "pair") for a, b in itertools.combinations(groups, 2)]


def task_lines(n, models, name, group, against, label="task {}"):
    """Return lines with AUCs all over the scale; every tenth cannot be judged."""
    lines = []
    for i in range(n):
        for m, model in enumerate(models):
            auc = 0.5 + 0.35 * math.sin(1.7 * i) / (1 + 2 * m)
            few = i % 10 == 7
            lines.append(
                TaskLine(
                    model,
                    name,
                    group,
                    against,
                    label.format(i),
                    6 if few else 20 + i % 17,
                    30 + i % 11,
                    unknown("the rows do not differ")
                    if few
                    else Estimate(auc, auc - 0.12, min(auc + 0.11, 1.0), 0.03),
                    None if few else 0.5 * math.exp(-40 * (auc - 0.5) ** 2),
                    not few and 0.5 * math.exp(-40 * (auc - 0.5) ** 2) <= 0.05,
                )
            )
    return tuple(lines)


def make_audit(
    models=("before", "after"),
    attributes=(("sex", ("M", "F")),),
    n_tasks=40,
    target=True,
    title="Pay by job, 2025",
    label="task {}",
    command="rankfair audit pay.csv --target pay --sensitive sex --task job",
    **more,
):
    """Return an audit of made-up records."""
    made = [attribute(name, groups, models, target) for name, groups in attributes]
    found = [
        comparison(m, name, a, b, kind, -0.14 / (1 + 5 * i), target)
        for name, groups in attributes
        for a, b, kind in compared(groups)
        for i, m in enumerate(models)
    ]
    drawn = [
        histogram(m, name, g, 2600 + (900 / (1 + 5 * i)) * (1 - j))
        for name, groups in attributes
        for i, m in enumerate(models)
        for j, g in enumerate(groups)
    ]
    first_name, first_groups = attributes[0]
    a, b, _ = compared(first_groups)[0]
    no_target = unknown("no target was given")
    errors = estimate(812.4, 20.0) if target else no_target
    return Audit(
        **{
            "models": tuple(ModelLine(m, errors, errors, errors) for m in models),
            "sensitive_features": tuple(made),
            "comparisons": tuple(found),
            "tasks": task_lines(n_tasks, models, first_name, a, b, label),
            "histograms": tuple(drawn),
            "provenance": Provenance(
                1800,
                n_tasks,
                "9f2c1e07ab34d5c6",
                {"rankfair": "0.1.0", "numpy": "2.1.0"},
                command,
                "2026-01-31T12:00:00Z",
                0,
            ),
            "title": title,
            **more,
        }
    )


def method(name, rmse, gap, **more):
    """Return a line of a table of methods."""
    return MethodLine(
        name,
        estimate(rmse, 10.0),
        estimate(gap, 0.01),
        estimate(gap * 100, 5.0),
        estimate(gap * 1.5, 0.02),
        **more,
    )


def path(n=9):
    """Return a table of methods that is a curve of one method with several ε."""
    lines = []
    for i in range(n):
        error, gap = 1400 - 900 * math.sqrt(i / n), 0.02 * i + 0.004
        rmse = Estimate(error, error - 40, error + 40)
        auc_gap = Estimate(gap, max(0.0, gap - 0.012), gap + 0.012)
        name, none = f"ε = {0.02 * i:.3g}", Estimate(math.nan)
        lines.append(MethodLine(name, rmse, auc_gap, none, none, chosen=i == 2))
    return MethodTable(tuple(lines), make_audit().provenance, curve=True)
