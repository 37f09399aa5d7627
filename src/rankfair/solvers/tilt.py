"""A fair fit is an ordinary fit to tilted targets: ``W = fit(y − λ g)``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rankfair.core.problem import Problem
from rankfair.engines import Engine
from rankfair.penalties import Penalty
from rankfair.solvers.base import Fitter, OnStep, Request, Solution, Status, package
from rankfair.solvers.counted import Demand
from rankfair.solvers.density import density_directions, density_rounds
from rankfair.solvers.joint import level, shared
from rankfair.solvers.line import TiltedFits
from rankfair.solvers.refits import search_along


@dataclass(frozen=True)
class Tilt:
    """Look for the ``λ`` nearest to 0 with every demand in its band.

    ``count`` says which predictions are counted: those of each row by the fit without
    it, ``"loo"``, or of training rows, ``"train"``.  ``direction`` is ``"mean"``, or
    ``"density"`` for rounds in which ``g`` turns towards the gradient of AUC.

    Examples
    --------
    >>> Tilt(count="train").direction
    'mean'
    """

    count: str = "loo"
    direction: str = "mean"
    max_iter: int = 50
    tol: float = 1e-4

    def solve(
        self,
        problem: Engine,
        request: Request,
        demands: Sequence[Demand],
        on_step: OnStep | None = None,
    ) -> Solution:
        """Fit y and each direction once, then count along the line between them."""
        whole = isinstance(problem, Problem)
        g: list[Any] = [it.direction() if whole else it.levels() for it in demands]
        B, squares = problem.sums(g)
        of_y, of_g = request.of_targets(problem, B, squares)
        fitter = Fitter.of(problem, of_y)
        fitter_g = fitter if of_g is of_y else Fitter.of(problem, of_g)
        fits = TiltedFits(fitter, fitter_g, demands, self.count)
        if shared(demands).any():
            g = density_directions(fits, g, B)
            found = search_along(fits, g, on_step)
        else:
            found = search_along(fits, g, on_step, sums=B)
        if self.direction == "density" and found.tilted:
            found = density_rounds(fits, found, g[0], self.tol, on_step)
        elif on_step is not None and not found.trace:
            on_step(found.steps[0])
        return found.solution(of_y)


def solve_linear(
    problem: Problem, penalty: Penalty, demands: Sequence[Demand]
) -> Solution:
    """The least error with every linear value at 0, or as near as can be.

    Unlike `Tilt` it has no cap: it may err more than one constant.
    """
    fitter = Fitter.of(problem, penalty)
    fits = TiltedFits(fitter, fitter, demands, "train")
    found = search_along(fits, [it.direction() for it in demands], find=level)
    return found.solution(penalty)


def unconstrained(problem: Engine, request: Request) -> Solution:
    """The fit with nothing asked of it, and its left-out predictions."""
    B, squares = problem.sums(())
    penalty = request.of_targets(problem, B, squares)[0]
    fitter = Fitter.of(problem, penalty)
    if not isinstance(problem, Problem):
        return package(fitter, fitter.solve(B[:, :, 0]), Status.INACTIVE, penalty)
    line = TiltedFits(fitter, fitter, (), "loo").line((), B)
    return package(fitter, line.W0, Status.INACTIVE, penalty, line=line)
