"""Processor time of learning maps of many rows, in sorts of the predictions."""

from __future__ import annotations

import statistics
import time

import numpy as np

from rankfair.estimators.maps import CONSTRAINTS_OF, move
from rankfair.projections import Sample

from .methods import EPSILON


def cost(n_rows: int = 10**6, repeats: int = 7) -> dict[str, float]:
    """The median over one ``np.sort`` of the predictions, in the same run."""
    rng = np.random.default_rng(0)
    codes = {2: rng.random(n_rows) < 0.4, 3: rng.integers(0, 3, n_rows)}
    noise = rng.normal(size=n_rows)
    predictions = {groups: noise + codes[groups] for groups in codes}

    def learn(method: str, constraint: str, groups: int) -> object:
        m = predictions[groups]
        rows = (np.flatnonzero(codes[groups] == g) for g in range(groups))
        return move([Sample.of(m[at]) for at in rows], method, constraint, EPSILON)

    kinds = [
        (method, constraint, groups)
        for groups in codes
        for method, constraints in CONSTRAINTS_OF.items()
        for constraint in constraints
    ]
    spent: dict[str, list[float]] = {"": []}
    for _ in range(repeats):
        start = time.process_time()
        np.sort(predictions[2])
        spent[""].append(time.process_time() - start)
        for kind in kinds:
            start = time.process_time()
            learn(*kind)
            took = time.process_time() - start
            name = "{}, {}, {} groups".format(*kind)
            spent.setdefault(name, []).append(took)
    sort = statistics.median(spent.pop(""))
    return {name: statistics.median(each) / sort for name, each in spent.items()}
