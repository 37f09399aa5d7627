"""What every penalty offers: a value, and an exact fit behind one factorisation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Self_ = TypeVar("Self_", bound="Penalty")

NO_EIGENVALUE = 1e-13  # of the largest in its task: below it, a direction has no data


class Factor(ABC):
    """Gram matrices prepared for any number of right-hand sides."""

    linear: ClassVar[bool] = False  # whether ``solve`` is a linear map

    @abstractmethod
    def solve(self, B: Floats, start: Floats | None = None) -> Floats:
        """Minimise ``Σ_j ½ wᵀG_j w − b_jᵀw + β R(W)``.

        ``B`` is (k, n), one right-hand side a task; ``start`` is an earlier answer to
        begin from.  The answer has a row a task, and one more if tasks share one.
        """


@dataclass(frozen=True)
class Penalty(ABC):
    """``β R(W)`` over the coefficients ``W`` (k, n) of k tasks; intercepts are free."""

    beta: float = 1.0
    degree: ClassVar[int] = 1  # R(cW) = c**degree R(W)

    @abstractmethod
    def value(self, W: Floats) -> float:
        """``β R(W)``."""

    @abstractmethod
    def factorise(self, G: Floats) -> Factor:
        """Prepare the fit for the Gram matrices ``G`` (k, n, n)."""

    def scaled(self: Self_, factor: float) -> Self_:
        """The same penalty with ``β`` multiplied."""
        return replace(self, beta=self.beta * factor)


def eigen(G: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues (k, n), with those of no data exactly 0, and vectors (k, n, n)."""
    values, vectors = np.linalg.eigh(G)
    top = values[:, -1:] if values.shape[1] else values
    return np.where(values > NO_EIGENVALUE * top, values, 0.0), vectors


def into(vectors: Floats, B: Floats) -> Floats:
    """``Qᵀ b`` of every task."""
    out: Floats = np.matmul(B[:, None, :], vectors)[:, 0]
    return out


def out_of(vectors: Floats, C: Floats) -> Floats:
    """``Q c`` of every task."""
    out: Floats = np.matmul(vectors, C[:, :, None])[:, :, 0]
    return out


def least_squares(values: Floats, C: Floats) -> Floats:
    """``Λ⁺ c``: the smallest solution, zero where there is no data."""
    return np.divide(C, values, out=np.zeros_like(C), where=values > 0)
