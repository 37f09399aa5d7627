"""What a page does not show, so that nobody can be recognised on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankfair.audit.records import REST_ONLY
from rankfair.input.errors import counted

if TYPE_CHECKING:
    from rankfair.audit.records import (
        Audit,
        GroupPair,
        SensitiveFeature,
        TaskLine,
        UnitsGap,
    )

Names = frozenset[str]
ByTask = dict[str, Names]
# Of an audit: what is about two groups.
RECORDS = ("comparisons", "tasks", "units", "parts", "remedies")


def small(sizes: Mapping[str, int], least: int, elsewhere: int = 0) -> frozenset[str]:
    """Return who has fewer rows; and the next smallest, until they have enough.

    Otherwise a total less what is shown would be that of fewer rows.  ``elsewhere``
    are rows of the total that have no line.

    Examples
    --------
    >>> sorted(small({"a": 900, "b": 3, "c": 40}, 5)), small({"a": 900, "b": 5}, 5)
    (['b', 'c'], frozenset())
    >>> sorted(small({"a": 900, "b": 3, "c": 40, "d": 2}, 5))
    ['b', 'd']
    """
    hidden: list[str] = []
    rows = elsewhere
    for name in sorted(filter(sizes.get, sizes), key=sizes.__getitem__):
        if sizes[name] >= least and not 0 < rows < least:
            break
        hidden.append(name)
        rows += sizes[name]
    return frozenset(hidden)


def spread(shares: Sequence[float], least: float) -> list[float]:
    """Return shares of bins, evened out where those of a few rows could be seen.

    Every bin is empty or in a run that has at least ``least`` together.

    Examples
    --------
    >>> spread([0.5, 0.25, 0.0, 0.125, 0.125, 0.0], 0.5)
    [0.5, 0.125, 0.125, 0.125, 0.125, 0.0]
    """
    runs: list[list[float]] = []
    for share in reversed(shares):  # the largest are the fewest
        if runs and 0.0 < sum(runs[-1]) < least:
            runs[-1].append(share)
        else:
            runs.append([share])
    while len(runs) > 1 and 0.0 < sum(runs[-1]) < least:
        few = runs.pop()
        runs[-1] += few
    return [sum(run) / len(run) for run in reversed(runs) for _ in run]


def not_shown(audit: Audit, least: int) -> list[str]:
    """Return the names of the groups and tasks that `without_small` leaves out."""
    groups, tasks = _hidden(audit, least)
    return sorted(frozenset().union(*groups.values(), *tasks.values()))


def _hidden(audit: Audit, least: int) -> tuple[dict[str, Names], dict[str, ByTask]]:
    """Of each feature the groups to hide, and those to hide in each task."""
    groups: dict[str, Names] = {}
    tasks: dict[str, ByTask] = {}
    for feature in audit.sensitive_features:
        sizes = {group.label: group.n_rows for group in feature.groups}
        few = groups[feature.name] = small(sizes, least)
        tasks[feature.name] = _in_tasks(audit, feature.name, sizes, few, least)
    return groups, tasks


def _in_tasks(
    audit: Audit, feature: str, sizes: Mapping[str, int], hidden: Names, least: int
) -> ByTask:
    """The groups to hide in each task; all of them where nothing is to be shown.

    What is hidden in one task has enough rows together: one group against the rest
    tells how many rows the task has.  A group that is hidden in some tasks has enough
    rows in tasks of which nothing is shown: else its total would tell them.  Hidden
    groups count as one, whose total is that of all rows less what is shown.
    """
    rows = _rows_of_tasks(audit, feature)
    everybody, known = frozenset(sizes), [name for name in sizes if name not in hidden]
    found: ByTask = {}
    for task, n in rows.items():
        shown = {name: n[name] for name in known if n[name]}
        few = small(shown, least, sum(n[name] for name in hidden))
        nothing = len(few) == len(shown)
        found[task] = everybody if nothing else few | hidden if few else few
    for groups in (*(frozenset([name]) for name in known), hidden):
        own = {task: sum(n[g] for g in groups) for task, n in rows.items()}
        partly = [task for task in own if found[task] != everybody]
        left = sum(sizes[g] for g in groups) - sum(own[task] for task in partly)
        seen = {task: own[task] for task in partly if found[task].isdisjoint(groups)}
        some = any(own[task] for task in partly if task not in seen)
        found |= dict.fromkeys(small(seen, least, left or some), everybody)
    return {task: few for task, few in found.items() if few}


def _rows_of_tasks(audit: Audit, feature: str) -> dict[str, Counter[str]]:
    """How many rows each group of a feature has in each task, as far as it is shown."""
    lines: tuple[TaskLine | UnitsGap, ...] = (*audit.tasks, *audit.units)
    found: dict[str, Counter[str]] = {}
    for line in lines:
        if line.sensitive_feature == feature and line.task is not None:
            n = found.setdefault(line.task, Counter())
            n[line.group], n[line.against] = line.n_group, line.n_against
    for remedy in audit.remedies:
        for raised in remedy.by_task:  # also where all rows are of one group
            if remedy.sensitive_feature == feature:
                n = found.setdefault(raised.task, Counter())
                n.setdefault(remedy.raised, raised.n_raised)
    return found


def without_small(audit: Audit, least: int) -> tuple[Audit, str]:
    """Return an audit without groups and tasks of fewer rows, and a note on them."""
    groups, tasks = _hidden(audit, least)
    rare = {
        (feature.name, group.label): (least - 0.5) / group.n_rows
        for feature in audit.sensitive_features
        for group in feature.groups
    }
    shapes = tuple(
        replace(h, shares=tuple(spread(h.shares, rare[h.sensitive_feature, h.group])))
        for h in audit.histograms
    )
    n_groups, n_tasks = (
        len(frozenset().union(*names.values())) for names in (groups, tasks)
    )
    if not n_groups and not n_tasks:
        return replace(audit, histograms=shapes), ""

    def seen(it: GroupPair, task: str | None) -> bool:
        """Whether both groups are shown, also in the task."""
        feature, *both = it.pair
        few = tasks[feature].get(task, frozenset()) if task else frozenset()
        return (groups[feature] | few).isdisjoint(both)

    each = (n_groups, "group"), (n_tasks, "task")
    hidden = " and ".join(counted(n, name) for n, name in each if n)
    shown: dict[str, Any] = {}
    for name in RECORDS:
        every = getattr(audit, name)
        kept = (it for it in every if seen(it, getattr(it, "task", None)))
        shown[name] = tuple(kept)
    shown["remedies"] = tuple(
        replace(r, by_task=tuple(it for it in r.by_task if seen(r, it.task)))
        for r in shown["remedies"]
    )
    features = (_feature(f, groups[f.name]) for f in audit.sensitive_features)
    shown |= {"sensitive_features": tuple(features), "histograms": shapes}
    return replace(audit, **shown), (
        f"Not shown, so that nobody can be recognised: {hidden} with fewer than "
        f"{counted(least, 'row')} of a group, or the next smallest."
    )


def _feature(feature: SensitiveFeature, hidden: frozenset[str]) -> SensitiveFeature:
    """A feature without some groups; its note may name them."""
    if not hidden:
        return feature
    groups = tuple(each for each in feature.groups if each.label not in hidden)
    return replace(feature, groups=groups, note=REST_ONLY * (REST_ONLY in feature.note))
