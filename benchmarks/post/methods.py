"""What each method makes of the predictions of a case."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from scipy.stats import ks_2samp, wasserstein_distance

from rankfair.estimators.maps import move
from rankfair.metrics import rank_auc, rmse
from rankfair.projections import Sample

from .cases import Case
from .points import LINE, OURS, Point
from .programme import Programme, plan_gap

try:
    from equipy.fairness import FairWasserstein
except ImportError:
    FairWasserstein = None

EPSILON = 0.01
PATH = (0.0, 0.003, 0.01, 0.03, 0.06, 0.1, 0.2, 0.4)  # ε of the picture's curve
SHARES = (0.0, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8)  # of the unmoved, EquiPy's own setting
Both = tuple[np.ndarray, np.ndarray]  # calibration rows and new rows, moved


def ours(
    case: Case, constraint: str, epsilon: float = EPSILON, method: str = "least"
) -> Both:
    samples = [Sample.of(case.m[case.z == g]) for g in (False, True)]
    found = move(samples, method, constraint, epsilon)
    old, new = case.m.copy(), case.m_new.copy()
    for g, table in enumerate(found.maps):
        old[case.z == g] = found.follow(table, case.m[case.z == g])
        new[case.z_new == g] = found.follow(table, case.m_new[case.z_new == g])
    return old, new


def barycentre(case: Case) -> Both:
    """EquiPy's Wasserstein map, nothing of the unmoved predictions mixed in."""
    model = FairWasserstein()
    model.fit(case.m, case.z)
    return model.transform(case.m, case.z), model.transform(case.m_new, case.z_new)


def mixed(case: Case, fair: Both, share: float) -> Both:
    """EquiPy's own setting: a share of the unmoved predictions."""
    old, new = fair
    return (
        (1 - share) * old + share * case.m,
        (1 - share) * new + share * case.m_new,
    )


def largest_share(
    case: Case, fair: Both, gap: Callable[[np.ndarray, np.ndarray], float]
) -> float:
    """The largest share that meets the demand on the calibration rows."""
    low, high = 0.0, 1.0
    for _ in range(12):
        share = (low + high) / 2
        met = gap(mixed(case, fair, share)[0], case.z) <= EPSILON
        low, high = (share, high) if met else (low, share)
    return low


def ks(m: np.ndarray, z: np.ndarray) -> float:
    return float(ks_2samp(m[z], m[~z], method="asymp").statistic)


def auc_gap(m: np.ndarray, z: np.ndarray) -> float:
    return abs(rank_auc(None, m, sensitive_features=z) - 0.5)


def md(m: np.ndarray, z: np.ndarray) -> float:
    return abs(float(m[z].mean() - m[~z].mean()))


def moved(m: np.ndarray, z: np.ndarray) -> float:
    return float(wasserstein_distance(m[z], m[~z]))


GAPS = {"KS": ks, "AUC": auc_gap}


def as_fair(case: Case, constraint: str, rival: np.ndarray) -> Both:
    """Ours with the largest ε as fair as a rival in KS and AUC on calibration rows.

    No figure of a new row is used.  KS is never less than the AUC gap, so that a KS of
    the rival's AUC gap is as fair in both, up to a row: the search starts there.
    """
    limits = {demand: gap(rival, case.z) for demand, gap in GAPS.items()}

    def as_fair_as_it(m: np.ndarray) -> bool:
        return all(GAPS[demand](m, case.z) <= limits[demand] for demand in GAPS)

    low, high = (min(EPSILON, limits[demand]) for demand in ("AUC", "KS"))
    best = ours(case, constraint, low)
    for _ in range(6):
        middle = (low + high) / 2
        tried = ours(case, constraint, middle)
        if as_fair_as_it(tried[0]):
            low, best = middle, tried
        else:
            high = middle
    return best


def judged(case: Case, made: Both) -> list[float]:
    """The only place that measures: in the order of `points.MEASURES`.

    Means and Wasserstein distances are in standard deviations of the target, which is
    what errors are in.
    """
    old, new = made
    return [
        rmse(case.y_new, new),
        *(gap(new, case.z_new) for gap in (ks, auc_gap, md, moved)),
        ks(old, case.z),
        auc_gap(old, case.z),
    ]


def rivals(case: Case) -> Iterator[tuple[str, str, Both]]:
    """Demand, name and rows of each rival."""
    bins = Programme.of(case)
    plans = bins.plans(EPSILON)
    yield "KS", "programme", bins.drawn(plans)
    # The AUC of a plan is all but proportional to its slack in KS.
    slack = EPSILON * EPSILON / plan_gap(plans)
    yield "AUC", "programme", bins.drawn(bins.plans(slack))
    if FairWasserstein is not None:
        fair = barycentre(case)
        for demand, gap in GAPS.items():
            share = largest_share(case, fair, gap)
            yield demand, "EquiPy", mixed(case, fair, share)
        for share in SHARES:
            yield "path", f"EquiPy {share:g}", mixed(case, fair, share)


def measured(case: Case) -> Iterator[tuple[Point, list[float]]]:
    """Every point of a split with its figures: beside each rival ours, as fair."""
    judge = partial(judged, case)
    yield Point("none", "unmoved"), judge((case.m, case.m_new))
    for demand, constraint in OURS.items():
        yield Point(demand, constraint), judge(ours(case, constraint))
        on_line = ours(case, constraint, method=LINE)
        yield Point(demand, LINE), judge(on_line)
    yield Point("AUC", "shift"), judge(ours(case, "rank", method="shift"))
    for demand, name, made in rivals(case):
        found = judge(made)
        yield Point(demand, name), found
        if demand in OURS:
            own = as_fair(case, OURS[demand], made[0])
            yield Point(demand, OURS[demand], name), judge(own)
    for epsilon in PATH:
        yield (
            Point("path", f"distribution {epsilon:g}"),
            judge(ours(case, "distribution", epsilon)),
        )
        yield (
            Point("path", f"line {epsilon:g}"),
            judge(ours(case, "distribution", epsilon, LINE)),
        )
