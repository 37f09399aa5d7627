"""Settings of estimators: checked, and resolved to records of the registries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from rankfair.constraints import (
    CONSTRAINTS,
    SIDES,
    main_and_beside,
    make_constraint,
    refuse_upper,
)
from rankfair.constraints.base import Constraint
from rankfair.input.errors import (
    Argument,
    InputError,
    Words,
    as_given,
    check_bins,
    check_choice,
    check_count,
    check_flag,
    check_number,
    check_seed,
    check_verbose,
    counted,
    shown,
)
from rankfair.input.groups import SensitiveGroups
from rankfair.input.training import TrainingRows, is_pair
from rankfair.penalties import PENALTIES, make_penalty
from rankfair.penalties.base import Penalty
from rankfair.penalties.pool import Pool
from rankfair.solvers import SOLVERS, Solver, make_solver
from rankfair.solvers.admm import NCADMM, Paper, only_rank
from rankfair.solvers.base import Request
from rankfair.solvers.tilt import Tilt

USE_TILT = ("Use ", Argument("solver", "tilt"), ".")
USE_GLOBAL = ("Use ", Argument("scope", "global"), ".")


class FairSettings(NamedTuple):
    """What a fit is asked for."""

    request: Request
    constraints: tuple[Constraint, ...]  # the counted one, and linear ones beside it
    solver: Solver

    @property
    def counted_on(self) -> str:
        """Which rows are counted; solvers other than "tilt" know training rows."""
        return self.solver.count if isinstance(self.solver, Tilt) else "train"


def name_of(constraint: Constraint) -> str:
    """Return the name under which a constraint is asked for."""
    return type(constraint).__name__.lower()


def read_settings(model: Any) -> FairSettings:
    """Check the settings of a `RankFairRegressor`."""
    check_choice("scope", model.scope, ("global", "task", "both"))
    check_flags(model)
    asked = read_constraints(model)
    solver = _read_solver(model)
    request = check_penalty(model, "task" if isinstance(solver, Paper) else "pool")
    _check_together(model, solver, request, asked)
    return FairSettings(request, asked, solver)


def check_flags(model: Any) -> None:
    """Check how groups are read."""
    check_flag("blind", model.blind)
    check_flag("intersect", model.intersect)
    check_bins(model.bins)


def check_estimator(estimator: Any, *methods: str, cure: Words = "") -> None:
    """Refuse what is no regressor like scikit-learn's."""
    known = not isinstance(estimator, type)
    if not known or not all(hasattr(estimator, method) for method in methods):
        raise InputError(
            "estimator",
            f"must be a regressor with {', '.join(methods)}, as scikit-learn's have",
            as_given(estimator),
            cure,
        )


# Penalties


def check_penalty(model: Any, default: str = "pool") -> Request:
    """Return the penalty asked for; check the settings that all linear models have.

    ``default`` is what ``penalty="pool"`` stands for.
    """
    check_flag("standardize", model.standardize)
    check_verbose(model.verbose)
    plain = isinstance(model.penalty, str) and model.penalty == "pool"
    penalty = default if plain else model.penalty
    request = _request(penalty, model.beta)
    check_choice("unseen", model.unseen, ("error", "shared"))
    if model.unseen == "shared" and not request.penalty.shares:
        raise InputError(
            "unseen",
            '"shared" needs a penalty that fits a model of all tasks',
            as_given(penalty),
            cure=("Set ", Argument("penalty", "pool"), " or leave it out."),
        )
    return request


def _request(penalty: Any, beta: Any) -> Request:
    """Return the penalty with its β: given, or chosen by cross-validation."""
    if isinstance(penalty, Penalty):
        return Request(penalty, fixed=True)
    check_choice("penalty", penalty, PENALTIES)
    if isinstance(beta, str):
        check_choice("beta", beta, ("auto",))
        return Request(make_penalty(penalty))
    if np.ndim(beta) == 0:
        given = check_number("beta", beta, 0.0)
        return Request(make_penalty(penalty, given), given, fixed=penalty != "pool")
    if penalty != "pool" or len(beta) != 3:
        raise InputError(
            "beta",
            (
                'must be "auto" or a number, or for ',
                Argument("penalty", "pool"),
                " three numbers",
            ),
            (f"{len(beta)} numbers for ", Argument("penalty", penalty)),
        )
    numbers = [check_number("beta", each, 0.0) for each in beta]
    return Request(Pool(numbers[0], numbers[1], numbers[2]), fixed=True)


# Constraints


def read_constraints(model: Any) -> tuple[Constraint, ...]:
    """Return the constraints asked for, the one that is counted first."""
    side = check_choice("side", model.side, SIDES)
    named = _named_constraints(model.constraints, model.epsilon)
    constraints = [_read_constraint(name, width, side) for name, width in named]
    kinds = [name_of(each) for each in constraints]
    for kind in kinds:
        if kinds.count(kind) > 1:
            times = f"names {shown(kind)} {kinds.count(kind)} times"
            raise InputError("constraints", times, cure="Once is enough.")
    constraint, beside = main_and_beside(constraints)
    if constraint.two_groups_only and constraint.side == "upper":
        raise InputError(
            "side",
            '"upper" puts one group on top, but a distance between distributions has '
            "no side",
            cure=("Use ", Argument("side", "both"), ' with "distribution".'),
        )
    return constraint, *beside


def _named_constraints(constraint: Any, epsilon: Any) -> list[tuple[Any, Any]]:
    """Return each constraint asked for with its own epsilon."""
    listed = isinstance(constraint, list | tuple)
    names = list(constraint) if listed else [constraint]
    if not names:
        raise InputError("constraints", "is an empty list", cure="Name at least one.")
    several = isinstance(epsilon, list | tuple | Mapping) or np.ndim(epsilon) > 0
    if not several:
        return [(name, epsilon) for name in names]
    if isinstance(epsilon, Mapping) or not listed or len(epsilon) != len(names):
        raise InputError(
            "epsilon",
            "must be one number for all constraints, or a list with one for each, in "
            "their order",
            (f"{as_given(epsilon)} for ", Argument("constraints", constraint)),
        )
    return list(zip(names, epsilon, strict=True))


def _read_constraint(name: Any, width: Any, side: str) -> Constraint:
    if not isinstance(name, Constraint):
        check_choice("constraints", name, CONSTRAINTS)
    kind = type(name) if isinstance(name, Constraint) else CONSTRAINTS[name]
    epsilon = check_number("epsilon", width, 0.0, kind.widest)
    return make_constraint(name, epsilon, side)


# Solvers, and what goes together


def _read_solver(model: Any) -> Solver:
    if not hasattr(model.solver, "solve"):
        check_choice("solver", model.solver, SOLVERS)
    check_seed("random_state", model.random_state)
    return make_solver(
        model.solver,
        count=check_choice("count", model.count, ("loo", "train")),
        direction=check_choice("direction", model.direction, ("mean", "density")),
        max_iter=check_count("max_iter", model.max_iter),
        tol=check_number("tol", model.tol, 0.0),
        random_state=model.random_state,
    )


def _check_together(
    model: Any, solver: Solver, request: Request, asked: tuple[Constraint, ...]
) -> None:
    """Refuse settings that do not go together."""
    one, by_task = len(asked) == 1, model.scope != "global"
    projects = isinstance(solver, NCADMM | Paper)
    if (by_task and not isinstance(solver, Tilt)) or (projects and not one):
        what = 'keeps one constraint, over all rows (scope="global")'
        raise InputError("solver", f"{shown(model.solver)} {what}", cure=USE_TILT)
    if projects:
        only_rank(asked, type(solver).__name__.lower())
    if by_task and not (one and asked[0].by_task):
        names = " and ".join(shown(name_of(each)) for each in asked)
        raise InputError(
            "scope",
            f"{shown(model.scope)} keeps one constraint in each task, and not every "
            "one can be asked there",
            names,
            (*USE_GLOBAL[:-1], " or ", Argument("constraints", "rank"), "."),
        )
    if not isinstance(solver, Tilt):
        return
    if solver.count == "loo" and not request.penalty.leverages:
        raise InputError(
            "count",
            '"loo" needs a penalty with leverages',
            as_given(model.penalty),
            ("Use ", Argument("count", "train"), "."),
        )
    if solver.direction == "density" and (by_task or not one):
        raise InputError(
            "direction",
            '"density" is for one constraint over all rows (scope="global")',
            cure=("Use ", Argument("direction", "mean"), "."),
        )


def check_groups(model: Any, settings: FairSettings, rows: TrainingRows) -> None:
    """Refuse what knows but two groups of one attribute, known for all rows."""
    if is_pair(rows.attributes):
        return
    there, cure = _groups_there(rows.attributes)
    solver, constraint = settings.solver, settings.constraints[0]

    def refuse(argument: str, value: Any, cure: Words) -> None:
        raise InputError(
            argument,
            f"{shown(value)} takes two groups of one attribute, known for all rows",
            (there, " in ", Argument("sensitive_features")),
            cure,
        )

    if model.scope != "global":
        refuse("scope", model.scope, (*USE_GLOBAL[:-1], f", or {cure}."))
    if not isinstance(solver, Tilt):
        refuse("solver", model.solver, USE_TILT)
    elif solver.direction != "mean":
        cure_of = ("Use ", Argument("direction", "mean"), ".")
        refuse("direction", solver.direction, cure_of)
    refuse_upper(
        settings.constraints, max(len(each.labels) for each in rows.attributes)
    )
    if constraint.two_groups_only:
        refuse(
            "constraints",
            name_of(constraint),
            (
                "Use ",
                Argument("constraints", "rank"),
                ', or RankFairPostprocessor, whose "distribution" takes any number.',
            ),
        )


def _groups_there(attributes: tuple[SensitiveGroups, ...]) -> tuple[str, str]:
    """Say what is there where two known groups were expected, and what can be done."""
    if len(attributes) > 1:
        return f"{len(attributes)} attributes", "name one attribute"
    (only,) = attributes
    if len(only.labels) > 2:
        return f"{len(only.labels)} groups", "merge groups"
    return f"{counted(only.n_unknown, 'row')} of unknown group", "leave these rows out"
