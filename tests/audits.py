"""Audits of made-up rows with names of all kinds, for pages and pictures."""

import math
from dataclasses import replace
from functools import cache

import numpy as np

from rankfair import audit
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
        "pay": HOSTILE[1],
    },
}


def estimate(value, half=0.05, p=None, **more):
    return Estimate(value, value - half, value + half, p, METHOD, **more)


def unknown(why="group M has 2 rows, fewer than 5"):
    return Estimate(math.nan, note=why)


@cache
def make_audit(
    models=("before", "after"),
    attributes=(("sex", ("M", "F")),),
    n_tasks=40,
    target=True,
    title="Pay by job, 2025",
    label="task {}",
    command="rankfair audit pay.csv --target pay --sensitive sex --task job",
    pay="",
):
    """Return an audit with AUCs all over the scale; every tenth task shows no spread.

    A task has six rows of each group of the first attribute.  With a name of pay, the
    page has all sections.
    """
    rng, n_groups = np.random.default_rng(0), len(attributes[0][1])
    tasks = np.repeat(np.arange(max(n_tasks, 1)), 6 * n_groups)
    n = len(tasks) if n_tasks else 40 * len(tasks)
    codes = [np.arange(n) % n_groups]
    codes += [rng.integers(0, len(labels), n) for _, labels in attributes[1:]]
    groups = {
        name: np.array(labels, object)[code]
        for (name, labels), code in zip(attributes, codes, strict=True)
    }
    y = 3000 + 900 * rng.normal(size=n)
    predicted, spread = {}, 1.0
    if n_tasks:
        y += 5000 * np.sin(1.7 * tasks) * (codes[0] == 0)
        spread = tasks % 10 != 7
    for j, model in enumerate(models):
        shift = 400 * (codes[0] == 0) / (1 + j)
        predicted[model] = (y / (1 + j) + shift + 100 * rng.normal(size=n)) * spread
    more = {}
    if pay:
        more = {"controls": {pay: codes[0] % 2 + y / 900}, "complementary": y - y.min()}
        more |= {"layout": "pay-transparency", "unit": pay}
    found = audit(
        {pay or "target": y} if target else None,
        predicted,
        sensitive_features=groups,
        tasks=[label.format(i) for i in tasks] if n_tasks else None,
        title=title,
        command=command,
        **more,
    )
    made = replace(found.provenance, n_rows=1800, versions={"numpy": "2.1.0"})
    return replace(found, provenance=made)


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
