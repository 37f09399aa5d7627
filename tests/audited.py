"""Rows and records that tests of audits look at."""

import math
from dataclasses import replace

import numpy as np

from rankfair import audit
from rankfair.audit.records import MEASURES
from rankfair.stats.estimate import Estimate


def sample(n=240, seed=0, groups="FM", tasks=12, ties=False):
    rng = np.random.default_rng(seed)
    g = rng.choice(list(groups), n)
    t = rng.integers(0, tasks, n)
    y = rng.normal(size=n) + 0.3 * (g == groups[-1]) + 0.1 * t
    p = y + rng.normal(size=n)
    return y, (np.round(p) if ties else p), g, t


def compared(predicted, groups, target=None, **more):
    """The one comparison of an audit."""
    (found,) = audit(target, predicted, sensitive_features=groups, **more).comparisons
    return found


def simple(auc=0.6, low=0.55, high=0.65, attributes=("sex",)):
    """An audit with that AUC, and no other figure, for each attribute."""
    groups = dict.fromkeys(attributes, ["M", "F"] * 10)
    found = audit(None, {"m": np.arange(20)}, sensitive_features=groups, reference="F")
    some = dict.fromkeys(MEASURES, Estimate(math.nan)) | {
        "auc": Estimate(auc, low, high)
    }
    made = tuple(replace(each, **some) for each in found.comparisons)
    return replace(found, comparisons=made, units=())
