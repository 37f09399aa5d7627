"""What is asked of the maps: a constraint, or ranks and means at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from rankfair._frames import counted
from rankfair._validation import check_choice, check_number
from rankfair.postprocess.maps import MAPS, Moved
from rankfair.postprocess.means import only_means, with_means
from rankfair.projections.samples import Sample

CONSTRAINTS = (*MAPS, "mean")
MOST = {"distribution": 1.0, "mean": np.inf}
BESIDE = ("rank", "distribution")  # what means can be held beside
FINEST = 5e-3  # of the target's spread: levels let means go in steps


@dataclass(frozen=True)
class Demand:
    """Constraints by name, each with its ε; that of means is in units of the target."""

    epsilons: dict[str, float]

    @classmethod
    def of(cls, constraint: Any, epsilon: Any) -> Demand:
        """Read the settings.

        Examples
        --------
        >>> Demand.of(["rank", "mean"], [0.01, 0.2])
        Demand(epsilons={'rank': 0.01, 'mean': 0.2})
        """
        names = (
            list(constraint) if isinstance(constraint, list | tuple) else [constraint]
        )
        for name in names:
            check_choice("constraints", name, CONSTRAINTS)
        several = isinstance(epsilon, list | tuple) or np.ndim(epsilon) > 0
        widths = list(epsilon) if several else [epsilon] * len(names)
        if len(widths) != len(names):
            raise ValueError(
                f"epsilon holds {counted(len(widths), 'number')} for "
                f"{counted(len(names), 'constraints')}; give one for each, or a single "
                "number for all."
            )
        others = [name for name in names if name != "mean"]
        if len(others) > 1 or len(set(names)) < len(names) or not names:
            raise ValueError(
                f"constraints={constraint!r} cannot be had at once; give one "
                f"constraint, or "
                '"rank" or "distribution" together with "mean".'
            )
        if len(names) > 1 and others[0] not in BESIDE:
            raise ValueError(
                f'constraints={constraint!r}: "{others[0]}" moves groups as wholes, '
                f"and so "
                'does "mean". Give one of them, or ["rank", "mean"].'
            )
        return cls(
            {
                name: check_number("epsilon", width, 0.0, MOST.get(name, 0.5))
                for name, width in zip(names, widths, strict=True)
            }
        )

    @property
    def main(self) -> str:
        """The constraint that shapes the maps; "mean" if they are only shifts."""
        return next((name for name in self.epsilons if name != "mean"), "mean")

    def learn(self, samples: Sequence[Sample], spread: float) -> Moved:
        """Return the least movement that meets it; ``spread`` is the target's."""
        if self.main == "mean":
            return only_means(samples, self.epsilons["mean"] * spread)
        learn = partial(MAPS[self.main], epsilon=self.epsilons[self.main])
        if "mean" not in self.epsilons:
            return learn(samples)
        width = max(self.epsilons["mean"], FINEST) * spread
        return with_means(learn, samples, width)
