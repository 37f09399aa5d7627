"""Rows and records that tests of audits look at."""

import math

import numpy as np

from rankfair import audit
from rankfair.audit import Audit
from rankfair.audit.records import Comparison, ModelLine, Provenance, SensitiveFeature
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
    """An audit made by hand, with one comparison for each attribute."""
    some = Estimate(math.nan)
    lines = {f: some for f in Comparison.__dataclass_fields__ if f not in ("kind",)}
    lines |= {"model": "m", "group": "M", "against": "F", "kind": "pair"}
    lines |= {"n_group": 10, "n_against": 10, "auc": Estimate(auc, low, high)}
    return Audit(
        models=(ModelLine("m", some, some, some),),
        sensitive_features=tuple(SensitiveFeature(a, (), 0, False) for a in attributes),
        comparisons=tuple(
            Comparison(**lines | {"sensitive_feature": a}) for a in attributes
        ),
        tasks=(),
        histograms=(),
        provenance=Provenance(20, 1, ""),
    )
