"""A fair fit is an ordinary fit to tilted targets: ``W = fit(y − λ g)``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rankfair.core.problem import Problem
from rankfair.engines import Engine
from rankfair.penalties import Penalty
from rankfair.solvers.base import Fitter, OnStep, Request, Solution, Status, package
from rankfair.solvers.counted import Demand
from rankfair.solvers.density import density_rounds
from rankfair.solvers.joint import density_directions, level, shared
from rankfair.solvers.line import make_line
from rankfair.solvers.refits import chord, search_along


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
        in_memory = isinstance(problem, Problem)
        directions: list[Any] = [
            each.direction() if in_memory else each.levels() for each in demands
        ]
        B, squares = problem.sums(directions)
        of_y, of_g = request.of_targets(problem, B, squares)
        fitter, count = Fitter.of(problem, of_y), self.count
        fitter_g = fitter if of_g is of_y else Fitter.of(problem, of_g)
        along = partial(search_along, fitter, fitter_g, demands)
        if shared(demands).any():
            line = (
                make_line(fitter, fitter_g, demands, directions, B, count)
                if of_y.quadratic
                else chord(fitter, demands, directions, count)
            )
            directions = density_directions(line, line.counted(count))
            found = along(directions, count, on_step)
        else:
            found = along(directions, count, on_step, sums=B)
        if self.direction == "density" and found.tilted:
            found = density_rounds(
                found,
                directions[0],
                lambda g: along([g], count, on_step),
                self.tol,
                on_step,
            )
        elif on_step is not None and not found.trace:
            on_step(found.steps[0])
        return found.solution(of_y)


def solve_linear(
    problem: Problem, penalty: Penalty, demands: Sequence[Demand]
) -> Solution:
    """The least error with every linear value at 0, or as near as can be.

    Unlike `Tilt` it has no cap: it may err more than one constant.
    """
    fitter, directions = Fitter.of(problem, penalty), [it.direction() for it in demands]
    found = search_along(fitter, fitter, demands, directions, "train", find=level)
    return found.solution(penalty)


def unconstrained(problem: Engine, request: Request) -> Solution:
    """The fit with nothing asked of it, and its left-out predictions."""
    B, squares = problem.sums(())
    penalty = request.of_targets(problem, B, squares)[0]
    fitter = Fitter.of(problem, penalty)
    if not isinstance(problem, Problem):
        W = fitter.solve(B[:, :, 0])
        return package(fitter, W, Status.INACTIVE, penalty)
    line = make_line(fitter, fitter, (), (), B)
    return package(fitter, line.W0, Status.INACTIVE, penalty, line=line)
