"""What the columns of rows in files or on a cluster are for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from rankfair._frames import label_array, listed, shown
from rankfair.engines.coding import Roles

__all__ = ["column_names", "one_column", "roles_of", "two_groups"]


def column_names(argument: str, given: Any) -> tuple[str, ...]:
    """Return one name or several as a tuple; rows elsewhere know no positions."""
    several = isinstance(given, list | tuple)
    names = () if given is None else tuple(given) if several else (given,)
    for name in names:
        if not isinstance(name, str):
            raise ValueError(
                f"{argument}={shown(name)}: columns of rows in files or on a cluster "
                "are given by their names."
            )
    return names


def one_column(given: Any) -> str | None:
    """Return the protected column by its name; rows elsewhere have one at most."""
    if given is None or isinstance(given, str):
        return given
    if isinstance(given, list | tuple) and len(given) == 1:
        return one_column(given[0])
    raise ValueError(
        f"sensitive_features={shown(given)}: rows in files or on a cluster are "
        "balanced between two groups of one column, given by its name."
    )


def roles_of(
    names: Sequence[str],
    target: str,
    tasks: tuple[str, ...],
    sensitive: str | None,
    weight: str | None,
    blind: bool,
) -> Roles:
    """Return what the columns are for, or raise if one is for two things."""
    places = [("target", target), ("sample_weight", weight)]
    places += [*(("tasks", name) for name in tasks), ("sensitive_features", sensitive)]
    seen: dict[str, str] = {}
    for role, name in places:
        if name is None:
            continue
        other = seen.get(name)
        # A column of groups may also say which task a row is of.
        if other is not None and (other, role) != ("tasks", "sensitive_features"):
            raise ValueError(
                f"column {shown(name)} is named as {other} and as {role}: name "
                "another one."
            )
        seen[name] = role
    apart = {*tasks, *((sensitive,) if blind else ())}
    predictors = tuple(name for name in names if name not in apart)
    if not predictors:
        raise ValueError("no column is left to predict from.")
    return Roles(predictors, target, tasks, sensitive, weight)


def two_groups(labels: list[Any], name: str | None) -> NDArray[Any] | None:
    """Return the labels of B and A, or raise if there are not two."""
    if name is None:
        return None
    if len(labels) == 1:
        raise ValueError(
            f"sensitive_features ({shown(name)}) has one group only "
            f"({shown(labels[0])}): there is nothing to balance."
        )
    if len(labels) != 2:
        raise ValueError(
            f"sensitive_features ({shown(name)}) has {len(labels)} groups "
            f"({listed(labels)}): rows in files or on a cluster are balanced between "
            "two. Join groups, or fit in memory."
        )
    return label_array(labels)
