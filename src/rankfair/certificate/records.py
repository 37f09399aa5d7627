"""The record: what is known about the rank gap of a model in the population."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

from rankfair._frames import counted, shown
from rankfair._validation import check_number

__all__ = ["Certificate"]


@dataclass(frozen=True)
class Certificate:
    """What is known about the rank gap of a model in the population.

    Attributes
    ----------
    auc : float
        The AUC of the rows given, group A against group B (or against all others).
    bound : float
        With this confidence, ``|AUC − 1/2|`` of the population is at most that.  NaN if
        it is not estimable; `notes` say why.
    interval : pair of float
        A two-sided interval of the AUC, with the same confidence.
    confidence : float
        What was asked for.
    method : {"delong-logit", "clusters", "exact", "none"}
        Rows independent; tasks as clusters; a limit that holds whatever the
        distributions, where placements do not vary; not estimable.
    n_a, n_b : int
        Rows of the groups.
    n_clusters : int or None
        How many tasks were taken as clusters.
    groups : tuple
        Labels of groups B and A; for one of several groups, None and its label.
    rmse : float
        Root mean squared error, NaN without y.
    notes : tuple of str
        Sentences on what was done, and what could not be.
    parts : tuple of Certificate
        With three or more groups, each against all others; all bounds hold together.
    model : object or None
        With ``calibrate=True``, the calibrated model that was certified.

    Examples
    --------
    >>> import numpy as np
    >>> from rankfair.certificate import certify_predictions
    >>> rng = np.random.default_rng(0)
    >>> in_a = rng.random(400) < 0.5
    >>> certificate = certify_predictions(rng.normal(size=400), in_a)
    >>> print(certificate)
    With 95 % confidence |AUC − 1/2| ≤ 0.0659 (AUC 0.5184, 0.4614 to 0.5749;
    183 rows in A, 217 in B; delong-logit).
    >>> certificate.holds(0.1)
    True
    """

    auc: float
    bound: float
    interval: tuple[float, float]
    confidence: float
    method: str
    n_a: int
    n_b: int
    n_clusters: int | None = None
    groups: tuple[Any, Any] = (False, True)
    rmse: float = math.nan
    notes: tuple[str, ...] = ()
    parts: tuple[Certificate, ...] = ()
    model: Any = None

    @property
    def estimable(self) -> bool:
        """Whether the rows can say anything about the population."""
        return not math.isnan(self.bound)

    def holds(self, epsilon: float) -> bool:
        """Tell whether ``|AUC − 1/2| ≤ epsilon`` is shown; False if nothing is known.

        Examples
        --------
        >>> import numpy as np
        >>> from rankfair.certificate import certify_predictions
        >>> certify_predictions(np.arange(3.0), np.arange(3) > 1).holds(0.5)
        False
        """
        return self.bound <= check_number("epsilon", epsilon, 0.0, 0.5)

    def to_dict(self) -> dict[str, Any]:
        """Return the record without the model, as plain values.

        Examples
        --------
        >>> import numpy as np
        >>> from rankfair.certificate import certify_predictions
        >>> found = certify_predictions(np.arange(9.0) % 4, np.arange(9) > 4).to_dict()
        >>> found["n_a"], found["n_b"], found["method"]
        (4, 5, 'delong-logit')
        """
        parts = [part.to_dict() for part in self.parts]
        return asdict(replace(self, model=None, parts=())) | {"parts": parts}

    def __str__(self) -> str:
        rows = f"{counted(self.n_a, 'row')} in A, {self.n_b} in B"
        if self.groups[0] is None:  # one of several groups: which is not known else
            rows = f"{counted(self.n_a, 'row')} of {shown(self.groups[1])}, "
            rows += f"{self.n_b} of others"
        if self.n_clusters is not None:
            rows += f", {self.n_clusters} clusters"
        if not self.estimable:
            return f"Not estimable (AUC {self.auc:.4f}; {rows}). {self.notes[-1]}"
        low, high = self.interval
        return (
            f"With {100 * self.confidence:g} % confidence |AUC − 1/2| ≤ "
            f"{self.bound:.4f} (AUC {self.auc:.4f}, {low:.4f} to {high:.4f}; {rows}; "
            f"{self.method})."
        )
