"""What a page does not show, so that nobody can be recognised on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankfair.audit.records import REST_ONLY
from rankfair.input.errors import counted

if TYPE_CHECKING:
    from rankfair.audit.records import Audit, SensitiveFeature, TaskLine, UnitsGap

Key = tuple[str, str, str]  # sensitive feature, group, against
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


def _hidden(
    audit: Audit, least: int
) -> tuple[dict[str, frozenset[str]], dict[Key, frozenset[str]]]:
    """Small groups of each feature, and for each pair of groups the tasks to hide.

    A task is hidden from all pairs of a group that has few rows in it: what one pair
    hides and another shows would be known.
    """
    labels = {
        f.name: {g.label: g.n_rows for g in f.groups} for f in audit.sensitive_features
    }
    groups = {feature: small(sizes, least) for feature, sizes in labels.items()}

    def sides(pair: Key) -> tuple[Key, Key]:
        """The groups of a pair; the rest is another one for each group."""
        feature, group, against = pair
        rest = "" if against in labels[feature] else group
        return (feature, group, ""), (feature, against, rest)

    sizes: dict[Key, dict[str, int]] = {}
    lines: tuple[TaskLine | UnitsGap, ...] = (*audit.tasks, *audit.units)
    for line in lines:
        if line.task is not None:
            n_rows = line.n_group, line.n_against
            for side, n in zip(sides(line.pair), n_rows, strict=True):
                sizes.setdefault(side, {})[line.task] = n
    for remedy in audit.remedies:
        for raised in remedy.by_task:  # also where all rows are of one group
            side = remedy.sensitive_feature, remedy.raised, ""
            sizes.setdefault(side, {}).setdefault(raised.task, raised.n_raised)
    few: dict[Key, frozenset[str]] = {}
    for side, by_task in sizes.items():
        feature, group, _ = side
        both = few.items() if len(labels[feature]) == 2 else ()
        gone = frozenset[str]().union(
            *(own for other, own in both if other[0] == feature)
        )
        left = {task: n for task, n in by_task.items() if task not in gone}
        # Of the rest no total is shown.
        total = labels[feature].get(group, sum(by_task.values()))
        few[side] = small(left, least, total - sum(left.values()))
    nobody: frozenset[str] = frozenset()
    return groups, {
        pair: nobody.union(*(few.get(side, nobody) for side in sides(pair)))
        for pair in {each.pair for each in (*lines, *audit.remedies)}
    }


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

    def seen(pair: Key, task: str | None) -> bool:
        """Whether both groups and the task are shown."""
        return groups[pair[0]].isdisjoint(pair[1:]) and task not in tasks.get(pair, ())

    each = (n_groups, "group"), (n_tasks, "task")
    hidden = " and ".join(counted(n, name) for n, name in each if n)
    shown: dict[str, Any] = {}
    for name in RECORDS:
        every = getattr(audit, name)
        kept = (it for it in every if seen(it.pair, getattr(it, "task", None)))
        shown[name] = tuple(kept)
    shown["remedies"] = tuple(
        replace(r, by_task=tuple(it for it in r.by_task if seen(r.pair, it.task)))
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
