"""What maps promise: the smallest θ, the least movement, shifts, and new values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ks_2samp, mannwhitneyu, wasserstein_distance

from rankfair.estimators.maps import (
    CONSTRAINTS_OF,
    GAPS,
    METHODS,
    Limit,
    Standing,
    common_quantiles,
    compare,
    knots,
    move,
    nearest,
    on_levels,
    towards,
)
from rankfair.projections import Sample, least_movement
from rankfair.solvers.base import Status

WAYS = [(method, name) for method, own in CONSTRAINTS_OF.items() for name in own]
ways = pytest.mark.parametrize(("method", "constraint"), WAYS)
on_the_line = pytest.mark.parametrize("constraint", CONSTRAINTS_OF["line"])


def two(seed=0, sizes=(300, 400), gap=1.0):
    rng = np.random.default_rng(seed)
    return [
        Sample.of(rng.normal(g * gap, 1 + 0.4 * g, size))
        for g, size in enumerate(sizes)
    ]


def three(seed=0, rows=200):
    rng = np.random.default_rng(seed)
    return [
        Sample.of(rng.gamma(1.5, 1 + g / 3, rows + 50 * g) + 0.4 * g) for g in range(3)
    ]


def values_of(samples, found):
    """Where the maps send what they were learnt from."""
    both = zip(found.maps, samples, strict=True)
    return [found.follow(table, own.values) for table, own in both]


def movement(samples, found):
    moved = zip(samples, values_of(samples, found), strict=True)
    total = sum(s.total for s in samples)
    return sum(s.weights @ (v - s.values) ** 2 for s, v in moved) / total


def excess(samples, constraint, epsilon, values):
    limit = Limit.of(constraint, samples, epsilon, 1.0)
    return limit.excess(Standing.of(values, samples))


# All ways


@ways
@pytest.mark.parametrize("samples", [two(1, gap=-0.6), three()], ids=["2", "3"])
def test_the_band_is_met_at_its_edge(method, constraint, samples, epsilon=0.02):
    found = move(samples, method, constraint, epsilon)
    values = values_of(samples, found)
    assert all((np.diff(own) >= 0).all() for own in values)
    gap = GAPS[constraint](Standing.of(values, samples)).max()
    assert gap == GAPS[constraint](found.standing).max()
    if found.status is Status.INACTIVE:
        assert gap <= epsilon
    else:
        assert found.status is Status.SATISFIED
        # KS goes in steps of a row, and so does the least movement.
        steps = method == "least" or constraint == "distribution"
        slack = max(s.row for s in samples) if steps else 1e-2 * epsilon
        assert epsilon - slack <= gap <= epsilon * (1 + 1e-9)


@ways
def test_whole_weights_are_repeated_rows(method, constraint):
    rng = np.random.default_rng(4)
    rows = [(np.round(rng.normal(g, 1, 60), 2), rng.integers(1, 4, 60)) for g in (0, 1)]
    weighted = [Sample.of(*own) for own in rows]
    repeated = [Sample.of(np.repeat(*own)) for own in rows]
    one, other = (move(s, method, constraint, 0.03) for s in (weighted, repeated))
    assert one.status is other.status
    for table, same in zip(one.maps, other.maps, strict=True):
        assert np.array_equal(table, same)


@ways
def test_many_rows_are_learnt_on_quantiles_and_counted_on_all(method, constraint):
    samples = two(3, (3000, 2500))
    whole = move(samples, method, constraint, 0.05)
    found = move(samples, method, constraint, 0.05, quantiles=500)
    assert found.status is whole.status is Status.SATISFIED
    assert max(table.shape[1] for table in found.maps) <= 500
    counted = Standing.of(values_of(samples, found), samples)
    gap = GAPS[constraint](counted).max()
    # A quantile of each group, or a thirtieth of the band.
    assert 0.05 * 0.97 - (method == "least") / 500 <= gap <= 0.05 * (1 + 1e-9)
    assert movement(samples, found) == pytest.approx(movement(samples, whole), rel=0.05)


@ways
def test_a_wrong_guess_from_quantiles_is_corrected(method, constraint):
    # Far values in a hundred are not among the quantiles that are tried first.
    rng = np.random.default_rng(0)
    values = np.round(rng.normal(size=900), 2)
    more = np.concatenate((values + 0.5, 30 + rng.normal(size=8)))
    samples = [Sample.of(values), Sample.of(more)]
    found = move(samples, method, constraint, 0.1, quantiles=40)
    assert found.status is Status.SATISFIED
    assert GAPS[constraint](found.standing).max() <= 0.1 * (1 + 1e-9)


@ways
def test_constant_predictions(method, constraint):
    level = [Sample.of(np.full(5, 2.0)), Sample.of(np.full(7, 2.0))]
    assert move(level, method, constraint, 0.0).status is Status.INACTIVE
    apart = [Sample.of(np.full(5, 2.0)), Sample.of(np.full(7, 3.0))]
    found = move(apart, method, constraint, 0.0)
    assert found.status is Status.SATISFIED
    assert np.concatenate(values_of(apart, found)) == pytest.approx(31 / 12)


@ways
@pytest.mark.parametrize("sizes", [(1, 1), (2, 50)])
def test_tiny_groups(method, constraint, sizes):
    samples = two(5, sizes, gap=3.0)
    found = move(samples, method, constraint, 0.01)
    before = excess(samples, constraint, 0.01, [s.values for s in samples])
    values = values_of(samples, found)
    assert excess(samples, constraint, 0.01, values) <= max(before, 0)
    for own in values:
        assert (np.diff(own) >= 0).all()


@pytest.mark.parametrize("method", ["line", "least"])
def test_ties_that_no_map_can_part(method):
    samples = [
        Sample.of(np.repeat([0.0, 1.0], [6, 4])),
        Sample.of(np.repeat([0.0, 1.0], [3, 7])),
    ]
    found = move(samples, method, "distribution", 0.1)
    assert found.status is Status.INFEASIBLE
    assert found.standing.ks.max() <= 0.3 + 1e-12
    assert np.isfinite(np.concatenate(values_of(samples, found))).all()


# How groups stand, against brute force and scipy


WEIGHTS = {
    "rows": None,
    "whole": lambda rng, n: rng.integers(1, 5, n),
    "shares": lambda rng, n: rng.uniform(0.1, 2.0, n),
}


def drawn(seed, size, decimals, weights=None):
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(size=size), decimals)
    return Sample.of(values, weights(rng, size) if weights else None)


def brute(a, b, first, second):
    """2U and KS from the table of all pairs."""
    wins = np.sign(np.subtract.outer(a, b)) + 1
    places = np.concatenate((a, b))
    F_a = (first.weights * (a <= places[:, None])).sum(axis=1) / first.total
    F_b = (second.weights * (b <= places[:, None])).sum(axis=1) / second.total
    return first.weights @ wins @ second.weights, np.abs(F_a - F_b).max()


@pytest.mark.parametrize("kind", WEIGHTS)
@settings(max_examples=25)
@given(
    st.integers(0, 10**6),
    st.tuples(st.integers(1, 40), st.integers(1, 40)),
    st.sampled_from([0, 1, 8]),
    st.sampled_from([0.0, 0.3, 9.0]),
)
def test_a_comparison_is_that_of_all_pairs(kind, seed, sizes, decimals, up):
    first, second = (
        drawn(seed + g, size, decimals, WEIGHTS[kind]) for g, size in enumerate(sizes)
    )
    a, b = np.round(first.values, 1), second.values + up  # moved steps may tie
    twice_u, ks, moved = compare(a, b, first, second)
    assert (twice_u, ks) == pytest.approx(brute(a, b, first, second), abs=1e-9)
    assert isinstance(twice_u, int) == (kind != "shares")
    assert moved == pytest.approx(
        wasserstein_distance(a, b, first.weights, second.weights), abs=1e-12
    )


def test_standings_as_scipy_has_them():
    rng = np.random.default_rng(0)
    rows = [np.round(rng.normal(g, 1, 30 + 9 * g), 1) for g in range(3)]
    samples = [Sample.of(own) for own in rows]
    standing = Standing.of([sample.values for sample in samples], samples)
    pairs = [(rows[0], rows[1]), (rows[0], rows[2]), (rows[1], rows[2])]
    assert standing.ks == pytest.approx([ks_2samp(*pair).statistic for pair in pairs])
    assert standing.wasserstein == pytest.approx(
        [wasserstein_distance(*pair) for pair in pairs]
    )
    assert standing.mean_gaps == pytest.approx(
        [abs(a.mean() - b.mean()) for a, b in pairs]
    )
    for g, auc in enumerate(standing.aucs):
        rest = np.concatenate([own for h, own in enumerate(rows) if h != g])
        u = mannwhitneyu(rows[g], rest).statistic
        assert auc == pytest.approx(u / (len(rows[g]) * len(rest)))


# The line


def test_the_end_of_the_line_is_the_barycentre():
    """Of samples of one size the mean of their sorted values, and the fairest place."""
    rng = np.random.default_rng(1)
    rows = np.sort(rng.gamma(1.0, size=(3, 50)) * [[1.0], [2.0], [3.0]], axis=1)
    samples = [Sample.of(own) for own in rows]
    for values in common_quantiles(samples):
        assert values == pytest.approx(rows.mean(axis=0))
    weighted = [Sample.of(own, np.full(50, g + 1)) for g, own in enumerate(rows)]
    for values in common_quantiles(weighted):
        assert values == pytest.approx(np.average(rows, axis=0, weights=[1, 2, 3]))


@pytest.mark.parametrize(("rows", "off"), [(300, 1e-9), (170, 1 / 170)])
def test_the_wasserstein_distance_shrinks_with_the_rest_of_the_way(rows, off):
    """Of groups of different size it does up to a row of each."""
    rng = np.random.default_rng(2)
    a, b = rng.normal(1.5, 2, 300), rng.gamma(1.5, size=300)[:rows]
    samples = [Sample.of(a), Sample.of(b)]
    moved = towards(samples, common_quantiles(samples))(0.4)
    left = 0.6 * wasserstein_distance(a, b)
    assert wasserstein_distance(*moved) == pytest.approx(left, abs=off)


@on_the_line
def test_theta_of_groups_of_one_shape_is_that_of_brute_force(constraint, epsilon=0.1):
    """Every difference shrinks with θ: pairs meet one after the other."""
    apart, rng = 0.8, np.random.default_rng(6)
    b = rng.gamma(1.5, size=25)
    samples = [Sample.of(b), Sample.of(b + apart)]
    found = move(samples, "line", constraint, epsilon)
    meet = np.subtract.outer(b + apart, b).ravel() / apart
    meet = np.append(meet[(meet > 0) & (meet < 1)], 1.0)
    if constraint in ("mean", "wasserstein"):
        meet = np.array([1 - epsilon / apart])

    def out_of_band(x):
        moved = [b + x * apart / 2, b + apart - x * apart / 2]
        return excess(samples, constraint, epsilon, [np.sort(m) for m in moved]) > 0

    # At a meeting pairs tie, and just after it they have passed.
    places = np.sort(np.concatenate((meet, meet + 1e-9)))
    first = next(x for x in places if not out_of_band(x))
    assert found.theta == pytest.approx(first, abs=2e-3)


@pytest.mark.parametrize("constraint", ["mean", "wasserstein"])
def test_means_and_distances_at_zero_are_met_up_to_a_row(constraint):
    samples = two(7, (120, 190))
    found = move(samples, "line", constraint, 0.0)
    assert found.status is Status.SATISFIED
    assert found.theta == pytest.approx(1.0, abs=1e-3)
    assert GAPS[constraint](found.standing).max() <= 3 / 120


# The least movement


@pytest.mark.parametrize("constraint", ["rank", "distribution"])
@pytest.mark.parametrize("samples", [two(), three()], ids=["2", "3"])
def test_least_moves_less_than_the_line(constraint, samples):
    least, line = (move(samples, m, constraint, 0.05) for m in ("least", "line"))
    assert np.isnan(least.theta)
    assert movement(samples, least) < movement(samples, line)
    # And the line leaves less between the groups.
    assert line.standing.wasserstein.max() < least.standing.wasserstein.max()


def test_a_band_too_narrow_for_the_least_movement_is_met_by_the_line():
    found = move(two(8, (30, 37)), "least", "rank", 0.0)
    assert found.status is Status.SATISFIED and found.theta > 0.9


@settings(max_examples=25)
@given(
    st.integers(0, 10**6),
    st.lists(st.integers(1, 60), min_size=2, max_size=4),
    st.sampled_from([0, 1, 8]),
)
def test_levels_keep_the_order_and_raise_no_ks(seed, sizes, decimals):
    rng = np.random.default_rng(seed)
    samples = [
        Sample.of(np.round(rng.normal(g, 1 + g / 2, n), decimals))
        for g, n in enumerate(sizes)
    ]
    moved = least_movement(samples, 0.1)
    levels = on_levels(samples, moved)
    for before, values in zip(moved, levels, strict=True):
        assert (np.diff(values) >= 0).all()
        spread = np.ptp(np.concatenate([s.values for s in samples]))
        assert np.abs(values - before).max() <= spread / 20 + 1e-9
    before, after = Standing.of(moved, samples), Standing.of(levels, samples)
    assert (after.ks <= before.ks + 1e-12).all()


# Shifts


@pytest.mark.parametrize("constraint", ["rank", "mean"])
@pytest.mark.parametrize("samples", [two(), three()], ids=["2", "3"])
def test_a_shift_is_the_same_for_all_rows_of_a_group(constraint, samples):
    found = move(samples, "shift", constraint, 0.01)
    for sample, moved in zip(samples, values_of(samples, found), strict=True):
        assert np.ptp(moved - sample.values) < 1e-10


# New values


def table(seed, n):
    """A map with flat stretches, and predictions on, between and beyond its knots."""
    rng = np.random.default_rng(seed)
    start = np.unique(np.round(rng.normal(size=n), 1))
    end = np.sort(np.round(rng.normal(0.3, 0.5, len(start)), 1))
    return start, end, np.concatenate((start, rng.normal(0, 2, 50)))


FOLLOW = sorted({way.follow for each in METHODS.values() for way in each}, key=str)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 30))
def test_nearest_is_the_least_movement_that_keeps_the_order(seed, n):
    start, end, m = table(seed, n)
    moved = nearest(np.stack((start, end)), m)
    for value, found in zip(m, moved, strict=True):
        least = max(end[start <= value], default=-np.inf)
        most = min(end[start >= value], default=np.inf)
        assert found == min(max(value, least), most)


@pytest.mark.parametrize("follow", FOLLOW)
@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 30))
def test_maps_are_monotone_and_keep_their_knots(follow, seed, n):
    start, end, m = table(seed, n)
    moved = follow(np.stack((start, end)), m)
    assert (np.diff(moved[np.argsort(m, kind="stable")]) >= -1e-12).all()
    assert np.array_equal(moved[: len(start)], end)
    few = knots(start, end)
    assert few.shape[1] <= 2 * len(np.unique(end))
    assert follow(few, m) == pytest.approx(moved)
