"""Constraints: each has a value with its band, a direction and a slope."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rankfair.constraints.base import Band, Constraint
from rankfair.constraints.distribution import Distribution
from rankfair.constraints.linear import Linear, Mean, Residual
from rankfair.constraints.rank import Rank
from rankfair.input.errors import Argument, InputError

__all__ = [
    "CONSTRAINTS",
    "SIDES",
    "Band",
    "Constraint",
    "Distribution",
    "Linear",
    "Mean",
    "Rank",
    "Residual",
    "main_and_beside",
    "refuse_own_epsilon",
    "refuse_upper",
]

CONSTRAINTS: dict[str, type[Constraint]] = {
    "rank": Rank,
    "mean": Mean,
    "residual": Residual,
    "distribution": Distribution,
}
SIDES = ("both", "upper")


def refuse_own_epsilon(constraint: Any) -> None:
    """Raise if no ε that is tried would change what is asked for.

    Examples
    --------
    >>> refuse_own_epsilon(["rank", Mean(0.1)])
    """
    several = constraint if isinstance(constraint, list | tuple) else [constraint]
    if not several or not all(isinstance(each, Constraint) for each in several):
        return
    known = {kind: f'"{name}"' for name, kind in CONSTRAINTS.items()}
    names = [known.get(type(each), "") for each in several]
    named = f"[{', '.join(names)}]" if several is constraint else names[0]
    one_by_one = "Fit a class of your own with one epsilon after another."
    raise InputError(
        "constraints",
        "brings its own epsilon: no other would be tried",
        repr(constraint),
        f"Use constraints={named}." if all(names) else one_by_one,
    )


def refuse_upper(constraints: Sequence[Constraint], n_groups: int) -> None:
    """Raise if one of more than two groups is to stand on top.

    Examples
    --------
    >>> refuse_upper([Rank(0.1, side="upper")], n_groups=2)
    """
    if n_groups > 2 and any(each.side == "upper" for each in constraints):
        raise InputError(
            "side",
            '"upper" puts one of two groups on top: not all can stand above the rest',
            f"{n_groups} groups",
            ("Use ", Argument("side", "both"), "."),
        )


def main_and_beside(
    constraints: Sequence[Constraint],
) -> tuple[Constraint, tuple[Constraint, ...]]:
    """The one constraint that is searched for, and the linear ones kept beside it.

    Examples
    --------
    >>> main_and_beside([Mean(0.1), Rank(0.02)])
    (Rank(epsilon=0.02, side='both', bandwidth=0.25), (Mean(epsilon=0.1, side='both'),))
    """
    others = [each for each in constraints if not each.linear]
    if {type(each) for each in others} == {Rank, Distribution}:
        raise InputError(
            "constraints",
            'must not hold both "rank" and "distribution": where KS ≤ ε, '
            "|AUC − 1/2| ≤ ε holds too",
            cure='Keep "distribution", with the smaller of the two epsilons.',
        )
    if len(others) > 1:
        names = " and ".join(type(each).__name__ for each in others)
        raise InputError(
            "constraints",
            "may hold at most one constraint besides Mean and Residual",
            names,
            "Keep one of these.",
        )
    main = (others or list(constraints))[0]
    return main, tuple(each for each in constraints if each is not main)
