"""What every penalty offers: a value, and an exact fit behind one factorisation."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankfair.core.blocks import LEAST, each

Floats = NDArray[np.float64]
Self_ = TypeVar("Self_", bound="Penalty")

NIL = 1e-10  # the norm, in standard units, of a feature or a task that fell to 0
PIECE = 1 << 20  # numbers of Gram matrices handled at a time
NO_EIGENVALUE = 1e-13  # of the largest in its task: below it, a direction has no data


class Factor(ABC):
    """Gram matrices prepared for any number of right-hand sides."""

    @abstractmethod
    def solve(self, B: Floats, start: Floats | None = None) -> Floats:
        """Minimise ``Σ_j ½ wᵀG_j w − b_jᵀw + β R(W)``.

        ``B`` is (k, n), one right-hand side a task; ``start`` is an earlier answer to
        begin from.  The answer has a row a task, and one more if tasks share one.
        """

    def inverse_blocks(self, W: Floats) -> Floats:
        """Each task's block of the inverse Hessian at ``W``: (k, n, n).

        The leverage of a row is ``x_iᵀ K_j x_i``, approximate if the penalty is not
        quadratic.
        """
        raise NotImplementedError

    def blocks_at(self, W: Floats) -> Callable[[slice], Floats]:
        """The same of some tasks at a time."""
        return self.inverse_blocks(W).__getitem__


@dataclass(frozen=True)
class Penalty(ABC):
    """``β R(W)`` over the coefficients ``W`` (k, n) of k tasks; intercepts are free."""

    beta: float = 1.0
    degree: ClassVar[int] = 1  # R(cW) = c**degree R(W)
    copies: ClassVar[int] = LEAST  # arrays of k n² numbers that a fit has at once
    quadratic: ClassVar[bool] = False  # whether fits of all targets lie on a line
    intercepts: ClassVar[bool] = False  # whether intercepts are penalised too
    shares: ClassVar[bool] = False  # whether there is a model for unseen tasks
    leverages: ClassVar[bool] = False  # whether its factor has `inverse_blocks`

    @abstractmethod
    def value(self, W: Floats) -> float:
        """``β R(W)``."""

    @abstractmethod
    def factorise(self, G: Floats) -> Factor:
        """Prepare the fit for the Gram matrices ``G`` (k, n, n)."""

    def scaled(self: Self_, factor: float) -> Self_:
        """The same penalty with ``β`` multiplied."""
        return replace(self, beta=self.beta * factor)


def filled(make: Callable[[slice], Floats], shape: tuple[int, ...]) -> Floats:
    """An array made some tasks at a time, so that what it takes is small."""
    out = np.empty(shape)
    step = PIECE // max(math.prod(shape[1:]), 1) + 1

    def fill(start: int) -> None:
        own = slice(start, start + step)
        out[own] = make(own)

    each(fill, range(0, len(out), step), out.size)
    return out


def eigen(G: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues (k, n), with those of no data exactly 0, and vectors (k, n, n)."""
    values, vectors = np.linalg.eigh(G)
    top = values[:, -1:] if values.shape[1] else values
    return np.where(values > NO_EIGENVALUE * top, values, 0.0), vectors


def pseudo_inverse(G: Floats) -> Floats:
    """The inverse of every symmetric ``G`` (k, n, n), 0 in directions of no data."""
    try:
        found = np.linalg.inv(G).astype(float, copy=False)
    except np.linalg.LinAlgError:
        found = np.full_like(G, np.nan)
    # ||G||·||G⁻¹|| tells how many digits the quick way has lost.
    size = np.abs(G).sum(axis=2).max(axis=1) * np.abs(found).sum(axis=2).max(axis=1)
    unsure = ~(size < 1.0 / NO_EIGENVALUE)
    if unsure.any():
        values, Q = eigen(G[unsure])
        shares = np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)
        found[unsure] = np.matmul(Q * shares[:, None, :], Q.swapaxes(1, 2))
    return found


def shrunk_inverse(G: Floats, pull: Floats) -> Floats:
    """``(G + diag(pull))⁻¹`` of every semidefinite ``G`` (k, n, n)."""
    moved = G + np.diag(pull)
    most = np.einsum("kff->k", moved).max(initial=0.0)
    if pull.min(initial=np.inf) > 1e3 * NO_EIGENVALUE * most:  # no digit is lost
        return np.linalg.inv(moved).astype(float, copy=False)
    return pseudo_inverse(moved)


def into(vectors: Floats, B: Floats) -> Floats:
    """``Qᵀ b`` of every task."""
    out: Floats = np.matmul(B[:, None, :], vectors)[:, 0]
    return out


def out_of(vectors: Floats, C: Floats) -> Floats:
    """``Q c`` of every task."""
    out: Floats = np.matmul(vectors, C[:, :, None])[:, :, 0]
    return out


def least_squares(values: Floats, vectors: Floats, B: Floats) -> Floats:
    """``Q Λ⁺ Qᵀ b``: the smallest solution, zero where there is no data."""
    C = into(vectors, B)
    C = np.divide(C, values, out=np.zeros_like(C), where=values > 0)
    return out_of(vectors, C)
