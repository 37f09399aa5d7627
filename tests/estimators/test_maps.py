"""What maps promise: the smallest θ, the least movement, shifts, and new values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

from rankfair.estimators.maps import (
    CONSTRAINTS_OF,
    METHODS,
    Limit,
    Standing,
    common_quantiles,
    compare,
    knots,
    move,
    nearest,
)
from rankfair.projections import Sample
from rankfair.solvers.base import Status

WAYS = [(method, name) for method, own in CONSTRAINTS_OF.items() for name in own]
ways = pytest.mark.parametrize(("method", "constraint"), WAYS)


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
    gap = Standing.of(values, samples).gaps[constraint].max()
    assert gap == found.standing.gaps[constraint].max()
    if found.status is Status.INACTIVE:
        assert gap <= epsilon
    else:
        assert found.status is Status.SATISFIED
        # KS goes in steps of a row, and so does the least movement.
        steps = method == "least" or constraint == "distribution"
        slack = max(s.row for s in samples) if steps else 1e-2 * epsilon
        assert epsilon - slack <= gap <= epsilon * (1 + 1e-9)
    if method == "shift":  # the same for all rows of a group
        for sample, moved in zip(samples, values, strict=True):
            assert np.ptp(moved - sample.values) < 1e-10


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
def test_quantiles_are_learnt_and_all_rows_are_counted(method, constraint):
    samples = two(3, (3000, 2500))
    whole = move(samples, method, constraint, 0.05)
    found = move(samples, method, constraint, 0.05, quantiles=500)
    assert found.status is whole.status is Status.SATISFIED
    assert max(table.shape[1] for table in found.maps) <= 500
    counted = Standing.of(values_of(samples, found), samples)
    gap = counted.gaps[constraint].max()
    # A quantile of each group, or a thirtieth of the band.
    assert 0.05 * 0.97 - (method == "least") / 500 <= gap <= 0.05 * (1 + 1e-9)
    assert movement(samples, found) == pytest.approx(movement(samples, whole), rel=0.05)
    # Far values in a hundred are not among the quantiles that are tried first.
    rng = np.random.default_rng(0)
    values = np.round(rng.normal(size=900), 2)
    more = np.concatenate((values + 0.5, 30 + rng.normal(size=8)))
    samples = [Sample.of(values), Sample.of(more)]
    found = move(samples, method, constraint, 0.1, quantiles=40)
    assert found.status is Status.SATISFIED
    assert found.standing.gaps[constraint].max() <= 0.1 * (1 + 1e-9)


@ways
def test_constant_predictions_and_tiny_groups(method, constraint):
    level = [Sample.of(np.full(5, 2.0)), Sample.of(np.full(7, 2.0))]
    assert move(level, method, constraint, 0.0).status is Status.INACTIVE
    apart = [Sample.of(np.full(5, 2.0)), Sample.of(np.full(7, 3.0))]
    found = move(apart, method, constraint, 0.0)
    assert found.status is Status.SATISFIED
    assert np.concatenate(values_of(apart, found)) == pytest.approx(31 / 12)
    for sizes in ((1, 1), (2, 50)):
        samples = two(5, sizes, gap=3.0)
        values = values_of(samples, move(samples, method, constraint, 0.01))
        before = excess(samples, constraint, 0.01, [s.values for s in samples])
        assert excess(samples, constraint, 0.01, values) <= max(before, 0)
        assert all((np.diff(own) >= 0).all() for own in values)


# How groups stand, against brute force and scipy


def brute(a, b, first, second):
    """2U and KS from the table of all pairs."""
    wins = np.sign(np.subtract.outer(a, b)) + 1
    places = np.concatenate((a, b))
    F_a = (first.weights * (a <= places[:, None])).sum(axis=1) / first.total
    F_b = (second.weights * (b <= places[:, None])).sum(axis=1) / second.total
    return first.weights @ wins @ second.weights, np.abs(F_a - F_b).max()


@pytest.mark.parametrize("kind", ["rows", "whole", "shares"])
@settings(max_examples=15)
@given(
    st.integers(0, 10**6),
    st.tuples(st.integers(1, 40), st.integers(1, 40)),
    st.sampled_from([0, 1, 8]),
    st.sampled_from([0.0, 0.3, 9.0]),
)
def test_a_comparison_is_that_of_all_pairs(kind, seed, sizes, decimals, up):
    rng, samples = np.random.default_rng(seed), []
    for n in sizes:
        weights = rng.integers(1, 5, n) if kind == "whole" else rng.uniform(0.1, 2, n)
        values = np.round(rng.normal(size=n), decimals)
        samples.append(Sample.of(values, None if kind == "rows" else weights))
    first, second = samples
    a, b = np.round(first.values, 1), second.values + up  # moved steps may tie
    twice_u, ks, moved = compare(a, b, first, second)
    assert (twice_u, ks) == pytest.approx(brute(a, b, first, second), abs=1e-9)
    assert isinstance(twice_u, int) == (kind != "shares")
    assert moved == pytest.approx(
        wasserstein_distance(a, b, first.weights, second.weights), abs=1e-12
    )


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


@pytest.mark.parametrize("constraint", CONSTRAINTS_OF["line"])
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


# The least movement


@pytest.mark.parametrize("constraint", ["rank", "distribution"])
@pytest.mark.parametrize("samples", [two(), three()], ids=["2", "3"])
def test_least_moves_less_than_the_line(constraint, samples):
    least, line = (move(samples, m, constraint, 0.05) for m in ("least", "line"))
    assert np.isnan(least.theta)
    assert movement(samples, least) < movement(samples, line)
    # And the line leaves less between the groups.
    left = [found.standing.gaps["wasserstein"].max() for found in (line, least)]
    assert left[0] < left[1]
    # A band too narrow for the least movement is met by the line.
    found = move(two(8, (30, 37)), "least", "rank", 0.0)
    assert found.status is Status.SATISFIED and found.theta > 0.9


# New values


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 30))
def test_maps_are_monotone_keep_their_knots_and_move_least(seed, n):
    """A map with flat stretches, and values on, between and beyond its knots."""
    rng = np.random.default_rng(seed)
    start = np.unique(np.round(rng.normal(size=n), 1))
    end = np.sort(np.round(rng.normal(0.3, 0.5, len(start)), 1))
    m = np.concatenate((start, rng.normal(0, 2, 50)))
    few = knots(start, end)
    assert few.shape[1] <= 2 * len(np.unique(end))
    for follow in {way.follow for each in METHODS.values() for way in each}:
        moved = follow(np.stack((start, end)), m)
        assert (np.diff(moved[np.argsort(m, kind="stable")]) >= -1e-12).all()
        assert np.array_equal(moved[: len(start)], end)
        assert follow(few, m) == pytest.approx(moved)
    for value, found in zip(m, nearest(few, m), strict=True):
        least = max(end[start <= value], default=-np.inf)
        most = min(end[start >= value], default=np.inf)
        assert found == min(max(value, least), most)
