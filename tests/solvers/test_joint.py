"""Several constraints at once on the line."""

from dataclasses import dataclass
from itertools import islice

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import ks_2samp, norm, rankdata

from rankfair.constraints import Band, Constraint, Distribution, Mean, Rank, Residual
from rankfair.core.problem import Groups, Problem, counted_weights
from rankfair.penalties import Pool
from rankfair.solvers.base import Request
from rankfair.solvers.counted import Demand
from rankfair.solvers.joint import (
    JointSearch,
    Tried,
    least_distance,
    shared,
    solve_joint,
)
from rankfair.solvers.tilt import TiltedFits, density_directions

COUNTS = {"left_out": "loo", "trained": "train"}
both_counts = pytest.mark.parametrize("count", COUNTS)


def make(X, y, tasks, asked, weights=None, count="left_out"):
    """The line of ``asked``, (constraint, rows of A, known rows or None), and counts.

    Constraints that would share a direction get their own.
    """
    problem = Problem.from_rows(X, y, tasks, tasks.max() + 1, weights=weights)
    demands = [
        Demand(each, Groups(mask, counted_weights(weights, known)).take(problem.order))
        for each, mask, known in asked
    ]
    request = Request(Pool(30.0, 3.0, 3.0), fixed=True)
    fits = TiltedFits.of(problem, request, demands, COUNTS[count])
    if shared(demands).any():
        fits = fits.along(density_directions(fits))
    line = fits.line()
    return line, getattr(line, count)


def solve(line, counted):
    return solve_joint(line.curve, counted)


def school(n=1500, tasks=20, groups=4, seed=0, kind="normal"):
    """Rows of several groups and two sexes, whose predictors carry both."""
    rng = np.random.default_rng(seed)
    t = np.append(np.arange(tasks), rng.integers(0, tasks, n - tasks))
    group = np.append(np.repeat(np.arange(groups), 2), rng.integers(0, groups, n))[:n]
    sex = rng.random(n) < 0.5
    X = rng.standard_normal((n, 8))
    X[:, 0] += 0.4 * group
    X[:, 1] += 0.6 * (group == 1)
    X[:, 2] += 0.6 * sex
    if kind == "codes":
        X = (X > 0.5).astype(float)
    y = X @ np.linspace(0.5, 1, 8) + 0.3 * group + 0.3 * sex + rng.standard_normal(n)
    return X, y, t, group, sex


def against_rest(constraint, group, known=None):
    """A demand for every group."""
    return [(constraint, group == g, known) for g in range(group.max() + 1)]


def auc(m, groups):
    """The AUC by mid-ranks; whole weights are repeated rows."""
    w = np.ones(len(m), int) if groups.weights is None else groups.weights
    m, a = np.repeat(m, w), np.repeat(groups.in_a, w)
    n_a, n_b = a.sum(), (~a).sum()
    return (rankdata(m)[a].sum() - n_a * (n_a + 1) / 2) / (n_a * n_b)


def gaps(counted, values):
    """How far each is outside its band, as people read it."""
    return np.array(
        [it.gap(value) for it, value in zip(counted.demands, values, strict=True)]
    )


def below_one_constant(line, lam):
    """Whether training rows are predicted no worse than by their mean."""
    y, s = line.fitter.problem.y, line.fitter.problem.weights
    s = np.ones(len(y)) if s is None else s
    m = line.fitter.problem.predict(line.coefficients(lam))
    constant = (s * (y - np.average(y, weights=s)) ** 2).sum()
    return (s * (m - y) ** 2).sum() <= constant * (1 + 1e-6)


@pytest.mark.parametrize("epsilon", [0.1, 0.0])
def test_five_demands_are_met_and_no_place_tried_at_random_is_cheaper(epsilon):
    X, y, t, group, sex = school(n=5000)
    rank = Rank(epsilon)
    line, counted = make(X, y, t, [*against_rest(rank, group), (rank, sex, None)])
    place = solve(line, counted)
    m = counted.q - place.lam @ counted.E
    aucs = np.array([auc(m, each.groups) for each in counted.demands])
    assert place.inside
    assert np.abs(aucs - 0.5).max() <= epsilon + 5e-4
    shown = [it.show(v) for it, v in zip(counted.demands, place.values, strict=True)]
    np.testing.assert_allclose(shown, aucs)
    A, rng = line.curve.A, np.random.default_rng(0)
    cost = place.lam @ A @ place.lam
    for scale in np.repeat([0.003, 0.01, 0.03, 0.1], 60):
        lam = place.lam * (1 + scale * rng.standard_normal(5))
        if lam @ A @ lam < 0.97 * cost:
            assert gaps(counted, counted.values(lam)).max() > 5e-4


# Linear constraints alone: one programme


def linear_model(counted):
    """``v`` and ``S`` with the values ``v − S λ``, by differences, and the bands."""
    v = np.array(counted.values(np.zeros(len(counted.E))))
    moved = np.array([counted.values(e) for e in np.eye(len(counted.E))])
    return v, v[:, None] - moved.T, np.array([each.band for each in counted.demands])


def cheapest(A, v, S, bands):
    """The least ``λᵀAλ`` with ``v − S λ`` in the bands, by cvxpy."""
    sizes, Q = np.linalg.eigh(A)
    root = np.sqrt(np.maximum(sizes, 0.0))[:, None] * Q.T
    x = cp.Variable(len(A))
    inside = [v - S @ x <= bands[:, 1], v - S @ x >= bands[:, 0]]
    programme = cp.Problem(cp.Minimize(cp.sum_squares(root @ x)), inside)
    return programme.solve(solver="CLARABEL")


def asked_of_means(name, group, sex):
    """Lists of linear constraints."""
    known = np.arange(len(group)) % 5 > 0
    return {
        "groups": against_rest(Mean(0.05), group),
        "exact": [*against_rest(Mean(0.0), group), (Mean(0.0), sex, None)],
        "features": [*against_rest(Mean(0.1), group), (Mean(0.02), sex, None)],
        "lists": [(Mean(0.2), sex, None), (Residual(0.2), sex, None)],
        "unknown": [
            *against_rest(Residual(0.03), group, known),
            (Mean(0.1), sex, None),
        ],
        "upper": [(Mean(0.05, side="upper"), sex, None), (Mean(0.3), group == 0, None)],
        "strata": [(Mean(0.0), sex, group == s) for s in range(4)],
    }[name]


@pytest.mark.parametrize("weights", [False, True])
@both_counts
@pytest.mark.parametrize(
    "name", ["groups", "exact", "features", "lists", "unknown", "upper", "strata"]
)
def test_linear_constraints_move_predictions_least(name, count, weights):
    X, y, t, group, sex = school(n=600)
    w = np.random.default_rng(1).uniform(0.5, 2.0, len(y)) if weights else None
    line, counted = make(X, y, t, asked_of_means(name, group, sex), w, count)
    place = solve(line, counted)
    assert place.inside
    assert gaps(counted, place.values).max() < 1e-9
    v, S, bands = linear_model(counted)
    A = line.curve.A / len(y)
    least = cheapest(A, v, S, bands + np.array([-1e-9, 1e-9]))
    assert place.lam @ A @ place.lam == pytest.approx(least, rel=1e-5, abs=1e-8)


def test_contradictory_linear_constraints_end_as_close_as_can_be():
    X, y, t, group, sex = school(n=600)
    asked = [(Mean(0.0), sex, None), (Residual(0.0), sex, None)]
    line, counted = make(X, y + sex, t, [*asked, (Mean(0.02), group == 1, None)])
    place = solve(line, counted)
    assert not place.inside
    v, S, bands = linear_model(counted)
    rows = np.vstack(
        (np.column_stack((-S, -np.ones(3))), np.column_stack((S, -np.ones(3))))
    )
    edges = np.append(bands[:, 1] - v, v - bands[:, 0])
    least = linprog([0, 0, 0, 1], rows, edges, bounds=[(None, None)] * 3 + [(0, None)])
    worst = gaps(counted, place.values).max()
    assert least.fun > 0.1
    assert least.fun - 1e-6 <= worst <= least.fun + 1e-3 + 1e-6
    A = line.curve.A / len(y)
    cost = cheapest(A, v, S, bands + (least.fun + 1e-3) * np.array([-1.0, 1.0]))
    assert place.lam @ A @ place.lam == pytest.approx(cost, rel=2e-3)
    assert below_one_constant(line, place.lam)


@pytest.mark.parametrize("seed", range(6))
def test_the_least_distance_is_that_of_a_quadratic_programme(seed):
    rng = np.random.default_rng(seed)
    r, n = rng.integers(1, 6, 2)
    J, inside = rng.standard_normal((r, n)), rng.standard_normal(n)
    width = rng.random((2, r)) * rng.integers(0, 2, r)
    low, high = J @ inside - width[0] - 1e-9, J @ inside + width[1] + 1e-9
    low[rng.random(r) < 0.2] = -np.inf
    u, price = least_distance(J, low, high)
    x, some = cp.Variable(n), np.isfinite(low)
    within = [J @ x <= high, J[some] @ x >= low[some]]
    least = cp.Problem(cp.Minimize(cp.sum_squares(x)), within).solve(solver="CLARABEL")
    assert (J @ u >= low - 1e-8).all()
    assert (J @ u <= high + 1e-8).all()
    assert u @ u == pytest.approx(least, rel=1e-5, abs=1e-7)
    tighter, _ = least_distance(J, low + 1e-6 * (width[0] > 0), high) or (u, 0.0)
    assert tighter @ tighter - u @ u <= price * 1e-6 + 1e-9


# The search


@pytest.mark.parametrize("by", [0.0, 0.03])
def test_what_is_aimed_at_lies_a_little_inside_of_what_will_do(by):
    X, y, t, group, sex = school(n=600)
    asked = [(Rank(0.0), sex, None), (Rank(0.1), group == 0, None)]
    line, counted = make(X, y, t, [*asked, (Mean(0.02), group == 1, None)])
    joint = JointSearch.of(line.curve, counted)
    low, high = joint.band
    assert [*low] == pytest.approx([0.5, 0.4, -0.02], abs=1e-3)
    np.testing.assert_allclose(joint.fine, [5e-4, 5e-4, 1e-9], rtol=1e-2)
    wide = np.maximum((high - low) / 2 + by, joint.fine / 2)
    aim = joint.aim(by)
    np.testing.assert_allclose(aim.sum(axis=0), low + high)
    np.testing.assert_allclose((aim[1] - aim[0]) / 2, wide - joint.fine / 10)
    # Beyond that a value is off.
    middle, none = (low + high) / 2, np.zeros(joint.T.shape[1])
    for i in range(3):
        for side in (-1.0, 1.0):
            for off in (-1e-3 * wide[i], 0.0, 0.2):
                shown = middle + side * (wide[i] + off) * (np.arange(3) == i)
                found = joint.off(Tried(none, [], shown), by)
                assert found == pytest.approx(max(off, 0.0), abs=1e-12)


def test_places_without_slack_are_kept_if_there_are_such():
    X, y, t, group, sex = school(n=600)
    asked = [(Rank(0.1), sex, None), (Rank(0.1), group == 0, None)]
    line, counted = make(X, y, t, asked)
    joint, none = JointSearch.of(line.curve, counted), np.zeros(2)
    pairs = np.array([it.groups.total_a * it.groups.total_b for it in counted.demands])
    inside, nearly, outside = (
        Tried(none, [*(2 * pairs * auc)], np.full(2, auc))
        for auc in (0.5999, 0.6 + 4e-4, 0.6 + 6e-4)
    )
    for seen, met in (([nearly, inside], inside), ([outside, nearly], nearly)):
        (found,) = joint.met(seen)
        assert found is met
    assert not joint.met([outside])


@dataclass(frozen=True)
class Told(Constraint):
    """A mean gap that is too large by ``more``, with a slope told too flat."""

    more: float = 0.0
    flat: float = 1.0

    def value(self, m, groups, unit=1.0):
        return m[groups.in_a].mean() - m[~groups.in_a].mean() + self.more

    def band(self, groups):
        return Band(-self.epsilon, self.epsilon)

    def show(self, value, groups):
        return value

    def slope(self, m, groups):
        return self.direction(groups) / self.flat


def test_a_step_too_far_is_halved_until_it_helps():
    X, y, t, _, sex = school(n=600)
    line, counted = make(X, y, t, [(Told(1e-3, "both", 0.02, 5.0), sex, None)])
    joint = JointSearch.of(line.curve, counted)
    here = joint.at(joint.start())
    assert here.shown == pytest.approx([0.02], abs=2e-3)
    tried = [*islice(joint.walk(here), 4)]
    first = tried[0].u - here.u
    for x, it in zip((1.0, 0.5, 0.25, 0.125), tried, strict=True):
        np.testing.assert_allclose(it.u - here.u, x * first, rtol=1e-6)
    gaps = [joint.gap(it) for it in (here, *tried)]
    assert gaps[4] < gaps[0] < min(gaps[1:4])


def test_a_walk_that_leads_nowhere_ends():
    """Values that no step changes are given up after at most four rounds of four."""

    class Constant(Told):
        def value(self, m, groups, unit=1.0):
            return self.more

    X, y, t, _, sex = school(n=600)
    line, counted = make(X, y, t, [(Constant(1e-3, "both", 0.02, 12.0), sex, None)])
    joint = JointSearch.of(line.curve, counted)
    assert 8 < len([*joint.walk(joint.free)]) <= 16
    place = solve_joint(line.curve, counted)
    assert not place.inside and not place.lam.any()


@pytest.mark.parametrize(("most", "last"), [(3, 2), (5, 1)])
def test_no_more_places_are_counted_than_is_said(most, last):
    counts = []

    class Noise(Told):
        def value(self, m, groups, unit=1.0):
            counts.append(m)
            return 1.0 + len(counts) % 2

    X, y, t, _, sex = school(n=600)
    line, counted = make(X, y, t, [(Noise(1e-3, "both", 0.02, 12.0), sex, None)])
    assert not solve_joint(line.curve, counted, most, last).inside
    assert most < len(counts) <= most + last


# Lists of constraints between the same groups


def skewed(n=3000, seed=0):
    """Groups of unlike shapes: level means leave a gap in ranks."""
    rng = np.random.default_rng(seed)
    in_a, t = rng.random(n) < 0.4, np.append(np.arange(10), rng.integers(0, 10, n - 10))
    x = np.where(in_a, rng.gamma(1.0, 1.35, n), rng.gamma(4.0, 0.3, n))
    X = np.column_stack(
        (x, rng.standard_normal(n), 0.3 * in_a + rng.standard_normal(n))
    )
    return X, x + 0.5 * X[:, 1] + 0.5 * rng.standard_normal(n), t, in_a


def test_rank_and_mean_of_two_groups_need_a_second_direction():
    X, y, t, in_a = skewed()
    line, counted = make(X, y, t, [(Rank(0.01), in_a, None), (Mean(0.01), in_a, None)])
    place = solve(line, counted)
    assert place.inside
    m, a = counted.q - place.lam @ counted.E, counted.demands[0].groups.in_a
    assert abs(auc(m, Groups(a)) - 0.5) <= 0.0105
    assert abs(m[a].mean() - m[~a].mean()) <= 0.01 + 1e-6
    # Along the mean direction alone, the first line, both are not met.
    ways = [counted.values(np.array([0.0, x])) for x in np.linspace(-2, 2, 401)]
    assert min(gaps(counted, values).max() for values in ways) > 1e-3


# Groups


@dataclass(frozen=True)
class Selected(Constraint):
    """Equal shares above the mean of all; what a user would write."""

    width: float = 0.25

    def value(self, m, groups, unit=1.0):
        """The difference of the shares."""
        above = m > m.mean()
        return above[groups.in_a].mean() - above[~groups.in_a].mean()

    def band(self, groups):
        """Up to ε."""
        return Band(-self.epsilon, self.epsilon)

    def show(self, value, groups):
        """In percent."""
        return 100 * value

    def slope(self, m, groups):
        """A bump at the threshold."""
        kernel = norm.pdf(m, m.mean(), self.width * m.std())
        return 100 * kernel * self.direction(groups)


def asked_of_groups(name, X, group, sex):
    """Demands on several groups and features, or lists of two groups."""
    rank, own = Rank(0.03), Selected(0.02)
    known = np.random.default_rng(3).random(len(group)) < 0.7
    lists = {
        "ranks, means": [Rank(0.02), Mean(0.05)],
        "means, ranks": [Mean(0.05), Rank(0.02)],
        "ranks, residuals": [Rank(0.02), Residual(0.35)],
        "means, residuals": [Mean(0.1), Residual(0.25)],
        "distributions, means": [Distribution(0.06), Mean(0.05)],
    }
    if name in lists:
        return [(each, sex, None) for each in lists[name]]
    return {
        "intersections": [
            *against_rest(rank, group),
            (rank, sex, None),
            *against_rest(rank, 2 * group + sex),
        ],
        "lists": [*against_rest(Rank(0.02), group), *against_rest(Mean(0.05), group)],
        "distributions": [
            *against_rest(Distribution(0.1), group),
            *against_rest(Mean(0.1), group),
        ],
        "other groups": [*against_rest(Rank(0.05), group), (Mean(0.05), sex, None)],
        "unknown groups": [*against_rest(rank, group, known), (rank, sex, None)],
        "units": [
            (Rank(0.0), sex, None),
            (Mean(0.0), sex, None),
            (Mean(0.0), X[:, 0] > 0, None),
        ],
        "own": [*against_rest(own, group), (own, sex, None), (rank, sex, None)],
    }[name]


def by_hand(constraint, groups, m, y):
    """How far a value is from parity."""
    a, b = groups.in_a, ~groups.in_a
    if isinstance(constraint, Rank):
        return auc(m, groups) - 0.5
    if isinstance(constraint, Distribution):
        return ks_2samp(m[a], m[b]).statistic
    if isinstance(constraint, Selected):
        return constraint.value(m, groups)
    left = y - m if isinstance(constraint, Residual) else m
    return left[a].mean() - left[b].mean()


GROUPS = ["intersections", "lists", "distributions", "other groups", "unknown groups"]
LISTS = ["ranks, means", "means, ranks", "ranks, residuals", "means, residuals"]


@both_counts
@pytest.mark.parametrize(
    "name", [*GROUPS, *LISTS, "distributions, means", "units", "own"]
)
def test_demands_on_several_groups_are_met_together(name, count):
    X, y, t, group, sex = school(n=4000, groups=3)
    asked = asked_of_groups(name, X, group, sex)
    line, counted = make(X, y, t, asked, count=count)
    place = solve(line, counted)
    assert gaps(counted, counted.values(0 * place.lam)).max() > 0.01
    assert place.inside
    assert below_one_constant(line, place.lam)
    seen, standard = counted.at(place.lam), counted.q - place.lam @ counted.E
    problem = line.fitter.problem
    pairs = zip(counted.demands, asked, place.values, strict=True)
    for it, (each, mask, _), value in pairs:
        assert (it.groups.in_a == mask[problem.order]).all()
        m = standard if each.linear else seen
        off = by_hand(each, it.groups, m, problem.y)
        slack = 5e-4 if isinstance(each, Rank | Distribution) else 1e-5
        assert abs(off) <= each.epsilon + slack
        known = it.show(value) / (100 if type(each) is Selected else 1)
        assert known - each.middle == pytest.approx(off, abs=1e-8)


def test_what_rows_of_unknown_group_weigh_in_the_fit_is_all_they_do():
    X, y, t, group, sex = school(n=2000)
    asked = asked_of_groups("unknown groups", X, group, sex)
    known = asked[0][2]
    place = solve(*make(X, y, t, asked))
    swapped = [(asked[0][0], np.where(known, asked[0][1], True), known), *asked[1:]]
    again = solve(*make(X, y, t, swapped))
    np.testing.assert_allclose(again.lam, place.lam, rtol=1e-6, atol=1e-9)


# Counts


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(12, 120),
    tasks=st.integers(1, 8),
    groups=st.integers(2, 5),
    epsilon=st.sampled_from([0.0, 0.02, 0.1]),
    kind=st.sampled_from(["normal", "codes"]),
    count=st.sampled_from([*COUNTS]),
    beside=st.sampled_from([None, Mean(0.0), Mean(0.1), Residual(0.1)]),
    weights=st.sampled_from([None, "whole", "real"]),
)
def test_what_is_said_to_be_met_is_met(
    seed, n, tasks, groups, epsilon, kind, count, beside, weights
):
    X, y, t, group, sex = school(n, min(tasks, n // 4), groups, seed, kind)
    rng = np.random.default_rng(seed)
    w = {
        None: None,
        "whole": rng.integers(1, 4, n).astype(float),
        "real": rng.uniform(0.2, 3.0, n),
    }[weights]
    sex[:2] = [True, False]
    asked = against_rest(Rank(epsilon), group)
    asked += [] if beside is None else [(beside, sex, None), (Rank(epsilon), sex, None)]
    line, counted = make(X, y, t, asked, w, count)
    place = solve(line, counted)
    assert below_one_constant(line, place.lam)
    assert counted.met(place.values) == place.inside
    m = counted.at(place.lam)
    for i, each in enumerate(counted.demands):
        value = each.constraint.value(m, each.groups, counted.units.unit)
        assert place.values[i] == pytest.approx(value, rel=1e-9, abs=1e-9)
        if place.inside:
            low, high = each.band
            pairs = each.groups.total_a * each.groups.total_b
            slack = max(1e-3 * pairs, 2 * each.groups.pair)
            slack = slack if isinstance(each.constraint, Rank) else 1e-6
            assert low - slack * (1 + 1e-9) <= value <= high + slack * (1 + 1e-9)
