"""The isotonic regressions against quadratic programmes, and what must hold."""

from itertools import combinations

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankfair.estimators.maps import Standing
from rankfair.projections.least_movement import (
    Sample,
    bounds,
    least_movement,
    pair,
)


def quadratic_programme(samples, slack):
    """The same least movement by a general solver, from all pairs of steps."""
    moved = [cp.Variable(len(sample.values)) for sample in samples]
    levels = [bounds(sample, slack) for sample in samples]
    cost, order = 0, []
    for g, sample in enumerate(samples):
        cost += sample.weights @ cp.square(moved[g] - sample.values)
        order += [cp.diff(moved[g]) >= 0] if len(sample.values) > 1 else []
        for h in range(len(samples)):
            before = levels[h][1][:, None] + 1e-12 < levels[g][0][None, :]
            order += [
                moved[h][j] <= moved[g][k] for j, k in np.argwhere(before) if h != g
            ]
    cp.Problem(cp.Minimize(cost), order).solve(solver="CLARABEL")
    return [values.value for values in moved]


def cost(samples, moved):
    return sum(
        s.weights @ (v - s.values) ** 2 for s, v in zip(samples, moved, strict=True)
    )


def drawn(seed, sizes, crossing=True, decimals=6):
    rng = np.random.default_rng(seed)
    return [
        Sample.of(
            np.round(rng.normal(g, 1 + 2 * g * crossing, size), decimals),
            rng.integers(1, 4, size) if seed % 3 == 0 else None,
        )
        for g, size in enumerate(sizes)
    ]


@pytest.mark.parametrize("slack", [0.0, 0.04, 0.1, 0.3])
@pytest.mark.parametrize(
    "sizes", [(12, 12), (9, 14), (1, 9), (2, 1), (8, 9, 7), (1, 2, 12), (6, 5, 6, 4)]
)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("decimals", [0, 6])
def test_as_a_quadratic_programme_finds_it(slack, sizes, seed, decimals):
    samples = drawn(seed, sizes, decimals=decimals)
    found = least_movement(samples, slack)
    wanted = quadratic_programme(samples, slack)
    assert np.concatenate(found) == pytest.approx(np.concatenate(wanted), abs=2e-3)
    assert cost(samples, found) <= cost(samples, wanted) * (1 + 1e-6) + 1e-9


def test_where_one_group_lies_above_it_is_the_pairing_of_quantiles():
    rng = np.random.default_rng(0)
    n, slack = 400, 0.05
    a, b = np.sort(rng.normal(3, 1, n)), np.sort(rng.normal(0, 1.5, n))
    shift = int(slack * n)
    paired = (a[:-shift] + b[shift:]) / 2
    moved_a, moved_b = pair(Sample.of(a), Sample.of(b), slack)
    assert moved_a[:-shift] == pytest.approx(np.minimum(a[:-shift], paired))
    assert moved_b[shift:] == pytest.approx(np.maximum(b[shift:], paired))
    assert np.array_equal(moved_a[-shift:], a[-shift:])
    assert np.array_equal(moved_b[:shift], b[:shift])


@given(
    st.integers(0, 10**6),
    st.lists(st.integers(1, 30), min_size=2, max_size=4),
    st.sampled_from([0.0, 0.01, 0.1, 0.25]),
    st.sampled_from([0, 1, 8]),
)
def test_maps_are_monotone_and_ks_is_kept(seed, sizes, slack, decimals):
    samples = drawn(seed, sizes, decimals=decimals)
    moved = least_movement(samples, slack)
    widest = [max(slack, np.diff(s.ends, prepend=0).max()) for s in samples]
    for values in moved:
        assert (np.diff(values) >= 0).all()
    of_pairs = Standing.of(moved, samples).gaps["distribution"]
    for (g, h), ks in zip(combinations(widest, 2), of_pairs, strict=True):
        assert ks <= (g + h) / 2 + 1e-9
    for again, once in zip(least_movement(samples, 1.0), samples, strict=True):
        assert again == pytest.approx(once.values, abs=1e-12)


@pytest.mark.parametrize(
    "weights", [None, np.random.default_rng(1).integers(1, 4, 9000)]
)
def test_a_thinned_sample_has_the_same_mean_ends_and_quantiles(weights):
    values = np.sort(np.random.default_rng(0).standard_t(3, size=9000))
    whole = Sample.of(values, weights)
    thin = whole.thinned(200)
    assert len(thin.values) <= 200 and (np.diff(thin.values) > 0).all()
    assert (thin.total, thin.row) == (whole.total, whole.row)
    assert np.average(thin.values, weights=thin.weights) == pytest.approx(
        np.average(whole.values, weights=whole.weights)
    )
    assert np.array_equal(thin.values[:50], values[:50])
    assert np.array_equal(thin.values[-50:], values[-50:])
    levels = np.linspace(0.05, 0.95, 50)
    assert thin.quantiles(levels) == pytest.approx(whole.quantiles(levels), abs=0.02)
    assert thin.thinned(200) is thin
