"""Post-processing the same predictions: ours, EquiPy, a linear programme, a shift.

An estimator is fitted on 40 % of the rows, maps are learnt on its predictions of 30 %,
and all are judged on the last 30 %, on several splits.  At KS ≤ 0.01 "distribution"
stands against EquiPy's Wasserstein map and the best randomised map between 200 bins; at
|AUC − 1/2| ≤ 0.01 "rank" stands against these two and the constant shift.  EquiPy's own
mixing share is the largest that meets the demand on the calibration rows; the linear
programme meets it in the mean of its draws, and its bins also span the new rows.  The
last columns are our figure less the rival's on the same split: mean ± standard error.

    python benchmarks/bench_post.py                  the table, and the cost
    python benchmarks/bench_post.py wine income      some data
    python benchmarks/bench_post.py cost             the cost only

EquiPy is no dependency: without ``pip install equipy`` its rows are left out.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array, vstack
from scipy.stats import ks_2samp

from rankfair.metrics import rank_auc, rmse
from rankfair.postprocess.follow import FOLLOW, knots
from rankfair.postprocess.maps import MAPS
from rankfair.projections.samples import Sample

try:
    from equipy.fairness import FairWasserstein
except ImportError:
    FairWasserstein = None

EPSILON = 0.01
BINS = 200


@dataclass(frozen=True)
class Case:
    """Predictions and groups to calibrate on, and to judge with."""

    m: np.ndarray
    z: np.ndarray
    m_new: np.ndarray
    z_new: np.ndarray
    y_new: np.ndarray


# Data


def synthetic(n_rows: int, skewed: bool) -> Callable[[int], Case]:
    def draw(seed: int) -> Case:
        rng = np.random.default_rng(seed)
        z = rng.random(2 * n_rows) < 0.4
        noise = rng.gamma(1.5, 1.0, 2 * n_rows) if skewed else rng.normal(size=len(z))
        m = 0.8 * noise * np.where(z, 1.3, 1.0) + 0.9 * z
        y = m + 0.5 * rng.normal(size=len(z))
        half = slice(0, n_rows), slice(n_rows, None)
        return Case(m[half[0]], z[half[0]], m[half[1]], z[half[1]], y[half[1]])

    return draw


def real(name: str) -> Callable[[int], Case]:
    def draw(seed: int) -> Case:
        from sklearn.ensemble import HistGradientBoostingRegressor

        from rankfair import datasets

        data = getattr(datasets, f"load_{name}")()
        z = data.sensitive == data.group_a
        X, y = np.column_stack((data.X, z)), data.target / data.target.std()
        place = np.random.default_rng(seed).permutation(len(y)) / len(y)
        fit, learn, new = place < 0.4, (place >= 0.4) & (place < 0.7), place >= 0.7
        model = HistGradientBoostingRegressor(max_iter=60, random_state=0)
        model.fit(X[fit], y[fit])
        m = model.predict(X)
        return Case(m[learn], z[learn], m[new], z[new], y[new])

    return draw


DATA: dict[str, tuple[Callable[[int], Case], int]] = {
    "gauss-1e3": (synthetic(10**3, False), 20),
    "skewed-1e3": (synthetic(10**3, True), 20),
    "gauss-1e5": (synthetic(10**5, False), 8),
    "skewed-1e5": (synthetic(10**5, True), 8),
    "wine": (real("wine"), 20),
    "student": (real("student"), 20),
    "crime": (real("crime"), 8),
    "income": (real("income"), 20),
}

# Methods: each maps calibration rows and new rows


Both = tuple[np.ndarray, np.ndarray]


def ours(case: Case, balance: str) -> Both:
    samples = [Sample.of(case.m[case.z == g]) for g in (False, True)]
    moved = MAPS[balance](samples, EPSILON)
    old, new = case.m.copy(), case.m_new.copy()
    for g, (sample, values) in enumerate(zip(samples, moved.values, strict=True)):
        table, follow = knots(sample.values, values), FOLLOW[balance]
        old[case.z == g] = follow(table, case.m[case.z == g])
        new[case.z_new == g] = follow(table, case.m_new[case.z_new == g])
    return old, new


def equipy(case: Case, met: Callable[[np.ndarray, np.ndarray], bool]) -> Both:
    model = FairWasserstein()
    model.fit(case.m, case.z)
    old, new = (
        model.transform(m, z) for m, z in ((case.m, case.z), (case.m_new, case.z_new))
    )
    low, high = 0.0, 1.0
    for _ in range(12):
        share = (low + high) / 2
        fair = met((1 - share) * old + share * case.m, case.z)
        low, high = (share, high) if fair else (low, share)
    return tuple(
        (1 - low) * fair + low * m for fair, m in ((old, case.m), (new, case.m_new))
    )


def programme(case: Case, demand: str, bins: int = BINS) -> Both:
    """The best randomised map between bins (Xian et al. 2024).

    With KS ≤ ε, or with the slack in KS that puts the AUC of its plan at ε from 1/2.
    """
    ends = np.min([case.m.min(), case.m_new.min()]), max(case.m.max(), case.m_new.max())
    edges = np.linspace(*ends, bins + 1)
    centres = (edges[1:] + edges[:-1]) / 2
    shares = [np.histogram(case.m[case.z == g], edges)[0] for g in (False, True)]
    slack = EPSILON
    plans = bin_plans(shares, centres, slack)
    if demand == "AUC":  # the gap is all but proportional to the slack
        slack *= EPSILON / plan_gap(plans)
        plans = bin_plans(shares, centres, slack)
    rng = np.random.default_rng(0)
    return tuple(
        draw_bins(m, z, edges, centres, plans, rng)
        for m, z in ((case.m, case.z), (case.m_new, case.z_new))
    )


def plan_gap(plans: list[np.ndarray]) -> float:
    """How far the AUC of what arrives is from 1/2, in the mean of all draws."""
    b, a = (plan.sum(axis=0) / plan.sum() for plan in plans)
    return abs(float(a @ (np.cumsum(b) - b / 2)) - 0.5)


def bin_plans(
    counts: list[np.ndarray], centres: np.ndarray, slack: float
) -> list[np.ndarray]:
    """Solve for the shares of each bin that go to each bin, for both groups.

    Unknowns are the plans of both groups and their distribution functions.
    """
    bins = len(centres)
    size = bins * bins
    i, j = np.divmod(np.arange(size), bins)
    cost = (centres[i] - centres[j]) ** 2
    total = sum(c.sum() for c in counts)
    entries: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for g in (0, 1):
        plan, F = g * size + np.arange(size), 2 * size + g * bins + np.arange(bins)
        leave, arrive = 2 * g * bins + i, (2 * g + 1) * bins + j
        entries.append((leave, plan, np.ones(size)))
        entries.append((arrive, plan, np.ones(size)))
        step = (2 * g + 1) * bins + np.arange(bins)
        entries.append((step, F, -np.ones(bins)))
        entries.append((step[1:], F[:-1], np.ones(bins - 1)))
    rows, columns, values = (
        np.concatenate(part) for part in zip(*entries, strict=True)
    )
    width = 2 * size + 2 * bins
    A_eq = coo_array((values, (rows, columns)), shape=(4 * bins, width)).tocsr()
    b_eq = np.concatenate([part for c in counts for part in (c / c.sum(), 0 * c)])
    k = np.arange(bins)
    apart = coo_array(
        (
            np.concatenate((np.ones(bins), -np.ones(bins))),
            (np.concatenate((k, k)), 2 * size + np.concatenate((k, bins + k))),
        ),
        shape=(bins, width),
    ).tocsr()
    solved = linprog(
        np.concatenate((*(c.sum() / total * cost for c in counts), np.zeros(2 * bins))),
        A_ub=vstack((apart, -apart)),
        b_ub=np.full(2 * bins, slack),
        A_eq=A_eq,
        b_eq=b_eq,
        method="highs-ipm",
    )
    plans = np.maximum(solved.x[: 2 * size], 0).reshape(2, bins, bins)
    return list(plans)


def draw_bins(
    m: np.ndarray,
    z: np.ndarray,
    edges: np.ndarray,
    centres: np.ndarray,
    plans: list[np.ndarray],
    rng: np.random.Generator,
) -> np.ndarray:
    """Send each prediction to a bin at random, as the plan of its group says.

    A bin that no row was learnt in moves by as many bins as the nearest that has some.
    """
    bins = len(centres)
    cell = np.clip(np.searchsorted(edges, m, "right") - 1, 0, bins - 1)
    out = np.empty(len(m))
    for g, plan in enumerate(plans):
        rows, mass = np.flatnonzero(z == g), plan.sum(axis=1)
        held = np.flatnonzero(mass > 1e-9)
        nearest = held[np.abs(np.arange(bins)[:, None] - held).argmin(axis=1)]
        cumulative = np.cumsum(plan[nearest], axis=1) / mass[nearest, None]
        draws = rng.random(len(rows))[:, None]
        target = (cumulative[cell[rows]] < draws).sum(axis=1)
        step = target - nearest[cell[rows]]
        out[rows] = centres[np.clip(cell[rows] + step, 0, bins - 1)]
    return out


# Judgement


def ks(m: np.ndarray, z: np.ndarray) -> float:
    return float(ks_2samp(m[z], m[~z]).statistic)


def auc(m: np.ndarray, z: np.ndarray) -> float:
    return rank_auc(None, m, sensitive_features=z)


def methods(case: Case) -> Iterator[tuple[str, str, Both]]:
    """Each demand and method with what it makes of old and new predictions."""
    yield "none", "unmoved", (case.m, case.m_new)
    yield "KS", "distribution", ours(case, "distribution")
    yield "KS", "programme", programme(case, "KS")
    if FairWasserstein is not None:
        yield "KS", "EquiPy", equipy(case, lambda m, z: ks(m, z) <= EPSILON)
    yield "AUC", "rank", ours(case, "rank")
    yield "AUC", "programme", programme(case, "AUC")
    if FairWasserstein is not None:
        yield (
            "AUC",
            "EquiPy",
            equipy(case, lambda m, z: abs(auc(m, z) - 0.5) <= EPSILON),
        )
    yield "AUC", "shift", ours(case, "shift")


def judged(case: Case, made: Both) -> list[float]:
    old, new = made
    return [
        rmse(case.y_new, new),
        ks(new, case.z_new),
        abs(auc(new, case.z_new) - 0.5),
        ks(old, case.z),
        abs(auc(old, case.z) - 0.5),
    ]


OURS = {"KS": "distribution", "AUC": "rank"}


def table(names: list[str]) -> None:
    print(
        "| data (splits) | at | method | held-out RMSE | KS | AUC gap | learnt KS "
        "| learnt AUC gap | ours less this: RMSE | KS |\n"
        "|---|---|---|---|---|---|---|---|---|---|"
    )
    for name in names:
        draw, runs = DATA[name]
        results: dict[tuple[str, str], list[list[float]]] = {}
        for seed in range(runs):
            case = draw(seed)
            for demand, method, made in methods(case):
                results.setdefault((demand, method), []).append(judged(case, made))
        for (demand, method), values in results.items():
            shown = " | ".join(f"{v:.4f}" for v in np.mean(values, axis=0))
            own = results.get((demand, OURS.get(demand, method)), values)
            less = " | ".join(difference(own, values))
            print(f"| {name} ({runs}) | {demand} | {method} | {shown} | {less} |")
            sys.stdout.flush()


def difference(own: list[list[float]], other: list[list[float]]) -> list[str]:
    """Mean and standard error of ours less another's RMSE and KS, split by split."""
    if own is other:
        return ["", ""]
    less = np.subtract(own, other)[:, :2]
    errors = less.std(axis=0, ddof=1) / np.sqrt(len(less))
    pairs = zip(less.mean(axis=0), errors, strict=True)
    return [f"{mean:+.4f} ± {error:.4f}" for mean, error in pairs]


def cost(n_rows: int = 10**6, repeats: int = 5) -> None:
    """Processor time of learning the maps over one ``np.sort`` of the predictions."""
    rng = np.random.default_rng(0)
    two = rng.random(n_rows) < 0.4
    three = rng.integers(0, 3, n_rows)
    noise = rng.normal(size=n_rows)
    predictions = {2: noise + two, 3: noise + three}

    def learn(balance: str, codes: np.ndarray, groups: int) -> object:
        m = predictions[groups]
        samples = [Sample.of(m[np.flatnonzero(codes == g)]) for g in range(groups)]
        return MAPS[balance](samples, EPSILON)

    calls = {
        "np.sort": lambda: np.sort(predictions[2]),
        "distribution, 2 groups": lambda: learn("distribution", two, 2),
        "rank, 2 groups": lambda: learn("rank", two, 2),
        "shift, 2 groups": lambda: learn("shift", two, 2),
        "distribution, 3 groups": lambda: learn("distribution", three, 3),
        "rank, 3 groups": lambda: learn("rank", three, 3),
        "shift, 3 groups": lambda: learn("shift", three, 3),
    }
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            start = time.process_time()
            call()
            times[name].append(time.process_time() - start)
    sort = statistics.median(times.pop("np.sort"))
    for name, spent in times.items():
        own = statistics.median(spent)
        print(f"{name}: {own / sort:.1f} sorts ({own:.3f} s, {n_rows} rows)")


def main(arguments: list[str]) -> None:
    unknown = [name for name in arguments if name not in {*DATA, "cost"}]
    if unknown:
        raise SystemExit(f"no such case: {unknown[0]}; there are {[*DATA, 'cost']}")
    names = [name for name in arguments if name != "cost"]
    if names or not arguments:
        table(names or list(DATA))
    if "cost" in arguments or not arguments:
        cost()


if __name__ == "__main__":
    main(sys.argv[1:])
