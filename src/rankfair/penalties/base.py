"""What every penalty offers: a value, and an exact fit behind one factorisation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankfair.core.blocks import LEAST

Floats = NDArray[np.float64]
Self_ = TypeVar("Self_", bound="Penalty")

NIL = 1e-10  # the norm, in standard units, of a feature or a task that fell to 0
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


def dots(U: Floats, V: Floats) -> Floats:
    """``u · v`` of every task, tasks last: (n, k) and (n, k) to (k,)."""
    out: Floats = np.einsum("ik,ik->k", U, V)
    return out


def tridiagonal(G: Floats) -> tuple[Floats, Floats, Floats]:
    """``G = Q T Qᵀ`` by Householder's reflections, all tasks at once.

    ``d`` (n, k) lies on the diagonal of ``T``, ``e`` (n − 1, k) beside it and ``Q`` is
    (n, n, k): with tasks last every operation runs over contiguous numbers.

    Examples
    --------
    >>> import numpy as np
    >>> d, e, Q = tridiagonal(np.array([[[2.0, 0, 1], [0, 2, 0], [1, 0, 2]]]))
    >>> d[:, 0].tolist(), np.abs(e[:, 0]).round(9).tolist()
    ([2.0, 2.0, 2.0], [1.0, 0.0])
    """
    k, n, _ = G.shape
    A = G.transpose(1, 2, 0).copy()
    e, tau = np.zeros((max(n - 1, 0), k)), np.zeros((max(n - 2, 0), k))
    for j in range(n - 2):
        v, S = A[j + 1 :, j], A[j + 1 :, j + 1 :]
        size = np.sqrt(dots(v, v))
        # The reflection I − τ v vᵀ takes the column to (e, 0, … 0); v replaces it.
        e[j] = -np.copysign(size, v[0])
        v[0] -= e[j]
        np.divide(-1.0, e[j] * v[0], out=tau[j], where=size > 0)
        p = np.einsum("ijk,jk->ik", S, v) * tau[j]
        p -= (0.5 * tau[j] * dots(p, v)) * v
        for i, row in enumerate(S):
            row[i:] -= v[i] * p[i:]
            row[i:] -= p[i] * v[i:]
            S[i + 1 :, i] = row[i + 1 :]
    if n > 1:
        e[-1] = A[-1, -2]
    Q = np.zeros_like(A)
    Q[range(n), range(n)] = 1.0
    for j in reversed(range(n - 2)):
        v, R = A[j + 1 :, j], Q[j + 1 :, j + 1 :]
        y = np.einsum("ik,ijk->jk", v, R) * tau[j]
        for i, row in enumerate(R):
            row -= v[i] * y
    return np.einsum("iik->ik", A).copy(), e, Q


def shifted(d: Floats, e: Floats, x: Floats, beta: float) -> Callable[[Floats], Floats]:
    """Solve ``(x T + β I) u = c`` of every task, ``T`` as in `tridiagonal`.

    Examples
    --------
    >>> import numpy as np
    >>> d, e, x = np.array([[3.0], [1.0]]), np.array([[2.0]]), np.array([1.0])
    >>> shifted(d, e, x, beta=1.0)(np.array([[6.0], [4.0]])).tolist()
    [[1.0], [1.0]]
    """
    D, side = x * d, x * e
    D += beta
    L = np.empty_like(side)
    for i in range(len(e)):
        np.divide(side[i], D[i], out=L[i])
        D[i + 1] -= L[i] * side[i]

    def solve(c: Floats) -> Floats:
        u = c.copy()
        for i in range(len(L)):
            u[i + 1] -= L[i] * u[i]
        u /= D
        for i in reversed(range(len(L))):
            u[i] -= L[i] * u[i + 1]
        return u

    return solve
