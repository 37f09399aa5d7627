"""Balances: one file each, with a value, a band and a direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rankfair.balances.base import Balance, Band, Linear
from rankfair.balances.distribution import Distribution
from rankfair.balances.mean import Mean
from rankfair.balances.rank import Rank
from rankfair.balances.residual import Residual
from rankfair.balances.within import Within

__all__ = [
    "BALANCES",
    "SIDES",
    "Balance",
    "Band",
    "Distribution",
    "Linear",
    "Mean",
    "Rank",
    "Residual",
    "Within",
    "main_and_beside",
    "make_balance",
    "refuse_own_epsilon",
    "refuse_upper",
]

BALANCES: dict[str, type[Balance]] = {
    "rank": Rank,
    "mean": Mean,
    "residual": Residual,
    "distribution": Distribution,
}
SIDES = ("both", "upper")


def make_balance(
    balance: str | Balance, epsilon: float = 0.01, side: str = "both"
) -> Balance:
    """The balance of that name; an object is returned as it is.

    Examples
    --------
    >>> make_balance("mean", 0.1)
    Mean(epsilon=0.1, side='both')
    """
    if isinstance(balance, str):
        return BALANCES[balance](epsilon, side)
    return balance


def refuse_own_epsilon(balance: Any) -> None:
    """Raise if no ε that is tried would change what is asked for.

    Examples
    --------
    >>> refuse_own_epsilon(["rank", Mean(0.1)])
    """
    several = balance if isinstance(balance, list | tuple) else [balance]
    if not several or not all(isinstance(each, Balance) for each in several):
        return
    names = [f'"{type(each).__name__.lower()}"' for each in several]
    named = f"[{', '.join(names)}]" if several is balance else names[0]
    raise ValueError(
        f"balance={balance!r} brings its own epsilon: no other would be tried. Use "
        f"balance={named}."
    )


def refuse_upper(balances: Sequence[Balance], n_groups: int) -> None:
    """Raise if one of more than two groups is to stand on top.

    Examples
    --------
    >>> refuse_upper([Rank(0.1, side="upper")], n_groups=2)
    """
    if n_groups > 2 and any(each.side == "upper" for each in balances):
        raise ValueError(
            f'side="upper" puts one of two groups on top; of {n_groups} groups not '
            'all can stand above the rest. Use side="both".'
        )


def main_and_beside(
    balances: Sequence[Balance],
) -> tuple[Balance, tuple[Linear, ...]]:
    """The one balance that is searched for, and the linear ones kept beside it.

    Examples
    --------
    >>> main_and_beside([Mean(0.1), Rank(0.02)])
    (Rank(epsilon=0.02, side='both', bandwidth=0.25), (Mean(epsilon=0.1, side='both'),))
    """
    others = [each for each in balances if not isinstance(each, Linear)]
    if len(others) > 1:
        if {type(each) for each in others} == {Rank, Distribution}:
            raise ValueError(
                'balance need not hold "rank" beside "distribution": KS ≤ ε brings '
                "|AUC − 1/2| ≤ ε with it. Ask for the distribution alone, with the "
                "smaller of the two epsilons."
            )
        names = " and ".join(type(each).__name__ for each in others)
        raise ValueError(
            "balance may hold one balance that is not linear beside any number of "
            f"linear ones (Mean, Residual); got {names}. Leave out all but one "
            "of these."
        )
    main = (others or list(balances))[0]
    return main, tuple(
        each for each in balances if isinstance(each, Linear) and each is not main
    )
