"""Settings of a fit with groups: checked, and resolved to records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from rankfair.constraints import (
    CONSTRAINTS,
    SIDES,
    Constraint,
    Distribution,
    main_and_beside,
    make_constraint,
    refuse_upper,
)
from rankfair.estimators.base import check_penalty
from rankfair.input.columns import TrainingRows, is_pair
from rankfair.input.errors import counted, shown
from rankfair.input.groups import SensitiveGroups
from rankfair.input.settings import (
    check_bins,
    check_choice,
    check_count,
    check_flag,
    check_number,
    check_seed,
)
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

__all__ = ["FairSettings", "check_groups", "read_constraints", "read_settings"]

SCOPES = ("global", "task", "both")


class FairSettings(NamedTuple):
    """What a fit is asked for."""

    request: Request
    constraints: tuple[Constraint, ...]  # the counted one, and linear ones beside it
    solver: Solver

    @property
    def counted_on(self) -> str:
        """Which rows are counted; solvers other than "tilt" know training rows."""
        return self.solver.count if isinstance(self.solver, Tilt) else "train"


def read_settings(model: Any) -> FairSettings:
    """Check the settings of a `RankFairRegressor`."""
    check_choice("scope", model.scope, SCOPES)
    check_flag("blind", model.blind)
    check_flag("intersect", model.intersect)
    check_bins(model.bins)
    asked = read_constraints(model)
    solver = _read_solver(model, asked)
    _check_scope(model.scope, solver, asked)
    request = check_penalty(model, "task" if isinstance(solver, Paper) else "pool")
    if isinstance(solver, Tilt):
        _check_tilt(model, solver, request, asked)
    return FairSettings(request, asked, solver)


def _check_tilt(
    model: Any, solver: Tilt, request: Request, asked: tuple[Constraint, ...]
) -> None:
    """Refuse what cannot be counted, or turned."""
    if solver.count == "loo" and not request.penalty.leverages:
        raise ValueError(
            f'count="loo" needs a penalty with leverages; {model.penalty!r} has none. '
            'Use count="train".'
        )
    if solver.direction == "density" and (len(asked) > 1 or model.scope != "global"):
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
                f'constraints names "{kind}" {kinds.count(kind)} times: once is enough.'
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
        raise ValueError("constraints is an empty list; name at least one.")
    if isinstance(epsilon, Mapping):
        raise ValueError(
            "epsilon must be a number, or a list with one for each of constraints, in "
            f"their order; got {epsilon!r}."
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
            "single number for all."
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


def _check_scope(
    scope: str, solver: Solver, constraints: tuple[Constraint, ...]
) -> None:
    """Refuse what bands in tasks cannot go with."""
    if scope == "global":
        return
    if not isinstance(solver, Tilt):
        raise ValueError(
            f'scope="{scope}" searches one multiplier a task, as solver="tilt" does; '
            f'got solver={solver!r}. Use solver="tilt", or scope="global".'
        )
    if not constraints[0].by_task:
        name = type(constraints[0]).__name__.lower()
        raise ValueError(
            f'scope="{scope}" has no constraints="{name}": it cannot be asked of every '
            'task. Use scope="global", or constraints="rank".'
        )
    if len(constraints) > 1:
        raise ValueError(
            f'scope="{scope}" keeps one constraint in each task; got '
            f'{len(constraints)}. Use scope="global", or one constraint.'
        )


def check_groups(model: Any, settings: FairSettings, rows: TrainingRows) -> None:
    """Refuse what knows but two groups of one attribute, known for all rows."""
    if is_pair(rows.attributes):
        return
    there, cure = _groups_there(rows.attributes)
    if model.scope != "global":
        raise ValueError(
            f'scope="{model.scope}" takes two groups of one attribute, known for all '
            f'rows; sensitive_features has {there}. Use scope="global", or {cure}.'
        )
    if not isinstance(settings.solver, Tilt):
        raise ValueError(
            f"solver={shown(model.solver)} knows two groups; sensitive_features has "
            f'{there}. Use solver="tilt".'
        )
    if settings.solver.direction != "mean":
        raise ValueError(
            f'direction="{settings.solver.direction}" turns one direction, between two '
            f'groups; sensitive_features has {there}. Use direction="mean".'
        )
    refuse_upper(
        settings.constraints, max(len(each.labels) for each in rows.attributes)
    )
    if settings.constraints[0].two_groups_only:
        name = type(settings.constraints[0]).__name__.lower()
        raise ValueError(
            f'constraints="{name}" compares two groups; sensitive_features has '
            f'{there}. Use constraints="rank", or RankFairPostprocessor, whose '
            '"distribution" takes any number of groups.'
        )


def _groups_there(attributes: tuple[SensitiveGroups, ...]) -> tuple[str, str]:
    """Say what is there where two known groups were expected, and what can be done."""
    if len(attributes) > 1:
        return f"{len(attributes)} attributes", "name one attribute"
    (only,) = attributes
    if len(only.labels) > 2:
        return f"{len(only.labels)}", "merge groups"
    return f"{counted(only.n_unknown, 'row')} of unknown group", "leave these rows out"
