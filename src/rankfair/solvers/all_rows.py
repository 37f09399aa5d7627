"""What the rounds on a thinned problem found, taken to all rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from rankfair.balances.base import Field, Tables
from rankfair.blocks import Ints
from rankfair.ranks import Grid, smooth_mean
from rankfair.solvers.base import Floats, in_memory
from rankfair.solvers.candidates import Candidate
from rankfair.solvers.landing import Landing
from rankfair.solvers.mixing import Mixer
from rankfair.solvers.ray import Origin, Ray

TABLE = 2048  # bins of what the thinned problem teaches
SETTLING = 12  # rounds on all rows for tasks that the thinned problem left out
TRUSTED = 1.5  # how much further than the thinned rows the others may have to move
SETTLED = 0.03  # the residual at which these rounds end: the error is then within 1 %
FINE = 0.1  # of the resolution: engines land at the same place, and near enough


def on_all_rows(origin: Origin, small: Origin, best: Candidate) -> Iterator[Candidate]:
    """What was found on the thinned problem, taken to all rows and landed there.

    The first direction is what a row of that group and unconstrained prediction met on
    average in the thinned problem.  Where that is not to be trusted (it had only some
    of the tasks, did not settle, or moved its own rows much further than the others)
    rounds on all rows follow.
    """
    problem = origin.fitter.problem
    b = origin.rest.moments(_seen_from_start(small, best), 0.0)
    ray = Ray.along(origin, b)
    whole = small.fitter.problem.n_tasks == problem.n_tasks
    if whole and best.stationarity <= SETTLED:
        landing, _ = ray.land(1.0, chord=1.0, fine=FINE)
        if landing.x <= TRUSTED:
            yield _as_learnt(best, ray, landing)
            return
    mixer = Mixer()
    # A first look at x = 1, where the thinned rows landed, needs no landing of its own.
    W = ray.fit(1.0)
    found = Candidate.at(ray, Landing(1.0, np.nan, np.nan), problem.line(W), W)
    for _ in range(SETTLING):
        ray = Ray.along(origin, mixer.next(found.force, found.gap), found.W)
        landing, line = ray.land(1.0, chord=1.0, fine=FINE)
        # On the chord: all rows are costly to fit, and exact counts come later.
        W = ray.near(landing.x)
        found = Candidate.at(ray, landing, line, W)
        yield found
        if found.stationarity <= SETTLED:
            return


def _as_learnt(best: Candidate, ray: Ray, landing: Landing) -> Candidate:
    """What was found on the thinned problem, where all rows landed."""
    W = ray.near(landing.x)
    return replace(
        best,
        force=landing.x * ray.b,
        W=W,
        landing=landing,
        objective=ray.origin.objective(W),
        multiplier=best.multiplier * landing.x,
    )


def _seen_from_start(small: Origin, best: Candidate) -> Field:
    """``λ̂ ∇AUC`` at the best fit as a function of the unconstrained prediction."""
    problem, groups = in_memory(small.fitter.problem), small.groups
    g = best.multiplier * best.field(problem.predict(best.W), groups)
    m0 = problem.predict(small.W0)
    grid = Grid.around(m0, TABLE)
    width = float(m0.std()) / 16

    def table(rows: Ints) -> Floats:
        w = np.ones(len(rows)) if problem.weights is None else problem.weights[rows]
        cells = m0[rows]
        return smooth_mean(
            grid.count(cells, g[rows] * w), grid.count(cells, w), grid, width
        )

    return Tables(grid, table(groups.index_a), table(groups.index_b))
