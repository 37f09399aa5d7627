"""Balances: one file each, with a value, a band and a direction."""

from __future__ import annotations

from rankfair.balances.base import Balance, Band
from rankfair.balances.mean import Mean
from rankfair.balances.rank import Rank

__all__ = ["BALANCES", "SIDES", "Balance", "Band", "Mean", "Rank", "make_balance"]

BALANCES: dict[str, type[Balance]] = {"rank": Rank, "mean": Mean}
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
