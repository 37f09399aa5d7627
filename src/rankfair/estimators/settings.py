"""Settings of a fit with groups: checked, and resolved to records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from rankfair._frames import shown
from rankfair._regressor import check_penalty
from rankfair._validation import (
    Rows,
    check_bins,
    check_choice,
    check_count,
    check_flag,
    check_number,
    check_seed,
)
from rankfair.constraints import (
    CONSTRAINTS,
    SIDES,
    Constraint,
    Distribution,
    main_and_beside,
    make_constraint,
    refuse_upper,
)
from rankfair.estimators.scope import SCOPES, check_scope, groups_there
from rankfair.penalties import make_penalty
from rankfair.solvers import (
    NCADMM,
    SOLVERS,
    Paper,
    Request,
    Solver,
    Tilt,
    make_solver,
    only_rank,
)

__all__ = ["Settings", "check_several", "read_constraints", "read_settings"]


class Settings(NamedTuple):
    """What a fit is asked for."""

    request: Request
    asked: tuple[Constraint, ...]  # the one that is counted, and linear ones beside it
    solver: Solver


def read_settings(model: Any) -> Settings:
    """Check the settings of a `RankFairRegressor`."""
    check_choice("scope", model.scope, SCOPES)
    check_flag("blind", model.blind)
    check_flag("intersect", model.intersect)
    check_bins(model.bins)
    asked = read_constraints(model)
    solver = _read_solver(model, asked)
    check_scope(model.scope, solver, asked)
    request = check_penalty(model)
    if model.solver == "paper" and model.penalty == "pool":
        request = Request(make_penalty("task"))
    if isinstance(solver, Tilt):
        _check_tilt(model, request, asked)
    return Settings(request, asked, solver)


def _check_tilt(model: Any, request: Request, asked: tuple[Constraint, ...]) -> None:
    """Refuse what cannot be counted, or turned."""
    if model.count == "loo" and not request.penalty.leverages:
        raise ValueError(
            f'count="loo" needs a penalty with leverages; {model.penalty!r} has none. '
            'Use count="train".'
        )
    if model.direction == "density" and (len(asked) > 1 or model.scope != "global"):
        raise ValueError(
            'direction="density" is for one constraint with scope="global". Use '
            'direction="mean".'
        )


def read_constraints(model: Any) -> tuple[Constraint, ...]:
    """Return the constraints asked for, the one that is counted first."""
    side = check_choice("side", model.side, SIDES)
    named = _named_constraints(model.constraints, model.epsilon)
    constraints = [_read_constraint(name, width, side) for name, width in named]
    kinds = [type(each).__name__.lower() for each in constraints]
    for kind in kinds:
        if kinds.count(kind) > 1:
            raise ValueError(
                f'constraint names "{kind}" {kinds.count(kind)} times: once is enough.'
            )
    constraint, beside = main_and_beside(constraints)
    if isinstance(constraint, Distribution) and constraint.side == "upper":
        raise ValueError(
            'side="upper" puts one group on top, but a distance between '
            'distributions has no side; use side="both" with "distribution".'
        )
    return constraint, *beside


def _named_constraints(constraint: Any, epsilon: Any) -> list[tuple[Any, Any]]:
    """Return each constraint asked for with its own epsilon."""
    listed = isinstance(constraint, list | tuple)
    names = list(constraint) if listed else [constraint]
    if not names:
        raise ValueError("constraint is an empty list; name at least one constraint.")
    if isinstance(epsilon, Mapping):
        raise ValueError(
            f"epsilon must be a number, or a list with one for each constraint in the "
            f"order of constraints; got {epsilon!r}."
        )
    if not (isinstance(epsilon, list | tuple) or np.ndim(epsilon) > 0):
        return [(name, epsilon) for name in names]
    if not listed:
        raise ValueError(
            f"epsilon holds {_numbers(epsilon)}, but constraints={constraint!r} is "
            "one constraint; give a list of constraints, or one number."
        )
    if len(epsilon) != len(names):
        raise ValueError(
            f"epsilon holds {_numbers(epsilon)} for {len(names)} "
            f"constraint{'' if len(names) == 1 else 's'}; give one for each, or a "
            f"single "
            "number for all."
        )
    return list(zip(names, epsilon, strict=True))


def _numbers(epsilon: Any) -> str:
    return "1 number" if len(epsilon) == 1 else f"{len(epsilon)} numbers"


def _read_constraint(name: Any, width: Any, side: str) -> Constraint:
    if not isinstance(name, Constraint):
        check_choice("constraints", name, CONSTRAINTS)
    kind = type(name) if isinstance(name, Constraint) else CONSTRAINTS[name]
    epsilon = check_number("epsilon", width, 0.0, kind.widest)
    return make_constraint(name, epsilon, side)


def _read_solver(model: Any, asked: tuple[Constraint, ...]) -> Solver:
    if not hasattr(model.solver, "solve"):
        check_choice("solver", model.solver, SOLVERS)
    check_seed("random_state", model.random_state)
    solver = make_solver(
        model.solver,
        count=check_choice("count", model.count, ("loo", "train")),
        direction=check_choice("direction", model.direction, ("mean", "density")),
        max_iter=check_count("max_iter", model.max_iter),
        tol=check_number("tol", model.tol, 0.0),
        random_state=model.random_state,
    )
    if isinstance(solver, NCADMM | Paper):
        if len(asked) > 1:
            raise ValueError(
                f"solver={shown(model.solver)} keeps one constraint at a time; got "
                f'{len(asked)}. Use solver="tilt".'
            )
        only_rank(asked, type(solver).__name__.lower())
    return solver


def check_several(model: Any, settings: Settings, rows: Rows) -> Tilt:
    """Refuse what knows but two groups, known for all rows; return the solver."""
    most = max(len(each.labels) for each in rows.attributes)
    if not isinstance(settings.solver, Tilt):
        raise ValueError(
            f"solver={shown(model.solver)} knows two groups; sensitive_features has "
            f'{groups_there(rows)}. Use solver="tilt".'
        )
    refuse_upper(settings.asked, most)
    if settings.asked[0].two_groups_only:
        raise ValueError(
            f'constraints="{type(settings.asked[0]).__name__.lower()}" compares two '
            "groups; sensitive_features has "
            f'{groups_there(rows)}. Use constraints="rank", or RankFairPostprocessor, '
            'whose "distribution" takes any number of groups.'
        )
    return settings.solver
