"""Rows opened for an engine, and the layout a frame of their columns would have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair._frames import label_array
from rankfair._groups import Encoder
from rankfair._validation import Layout
from rankfair.engines.coding import Coding
from rankfair.engines.rows import Rows
from rankfair.streams.roles import two_groups

__all__ = ["Opened", "layout_of"]


@dataclass(frozen=True)
class Opened:
    """Rows ready for an engine, how their labels are coded, and the columns of X."""

    rows: Rows
    coding: Coding
    names: tuple[str, ...]


def layout_of(names: Sequence[str], coding: Coding, share: float) -> Layout:
    """Return the layout that a frame with these columns would have."""
    roles, place = coding.roles, {name: j for j, name in enumerate(names)}
    groups = two_groups(coding.groups.known, roles.group)
    protected: tuple[Encoder, ...] = ()
    unused: tuple[int, ...] = ()
    if roles.group is not None and roles.group in roles.predictors:
        fill = np.array([share])
        protected = (Encoder(place[roles.group], roles.group, groups, fill),)
    elif roles.group is not None and roles.group not in roles.tasks:
        unused = (place[roles.group],)
    return Layout(
        predictors=tuple(place[name] for name in roles.predictors),
        names=roles.predictors,
        task_columns=tuple(place[name] for name in roles.tasks) or None,
        tasks=_task_labels(coding),
        protected=protected,
        groups=groups,
        unused=unused,
    )


def _task_labels(coding: Coding) -> NDArray[Any]:
    if not coding.tasks:
        return np.array([0])
    if coding.cells is None:
        return label_array(coding.tasks[0].known)
    shape = tuple(len(labels) for labels in coding.tasks)
    places = np.unravel_index(coding.cells, shape)
    parts = [
        [labels.known[i] for i in place.tolist()]
        for labels, place in zip(coding.tasks, places, strict=True)
    ]
    return label_array(list(zip(*parts, strict=True)))
