"""How groups stand, against brute force and scipy; what a limit allows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp, mannwhitneyu, wasserstein_distance

from rankfair.estimators.maps import GAPS, Limit, Standing, compare
from rankfair.projections import Sample

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
    found = compare(a, b, first, second)
    twice_u, ks = brute(a, b, first, second)
    assert found.twice_u == pytest.approx(twice_u, rel=1e-12, abs=1e-9)
    assert isinstance(found.twice_u, int) == (kind != "shares")
    assert found.ks == pytest.approx(ks, abs=1e-12)
    assert found.wasserstein == pytest.approx(
        wasserstein_distance(a, b, first.weights, second.weights), abs=1e-12
    )


def test_standings_as_scipy_has_them():
    rng = np.random.default_rng(0)
    rows = [np.round(rng.normal(g, 1, 30 + 9 * g), 1) for g in range(3)]
    samples = [Sample.of(own) for own in rows]
    standing = Standing([sample.values for sample in samples], samples)
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


@pytest.mark.parametrize("constraint", GAPS)
def test_a_limit_is_in_the_unit_of_its_constraint(constraint):
    """Ranks and distributions know no unit; the others are in spreads of the target."""
    samples = [drawn(g, 100, 8) for g in range(3)]
    large = [Sample(1e3 * s.values, s.weights, s.row) for s in samples]
    excess = [
        Limit.of(constraint, own, 0.02, spread).excess(
            Standing([s.values for s in own], own)
        )
        for own, spread in ((samples, 2.0), (large, 2e3))
    ]
    scale = 1e3 if constraint in ("mean", "wasserstein") else 1.0
    assert excess[1] == pytest.approx(scale * excess[0])


def test_bands_are_never_narrower_than_rows():
    samples = [Sample.of(np.arange(5.0)), Sample.of(np.arange(7.0))]
    pair = 1 / (2 * 5 * 7)
    assert Limit.of("rank", samples, 0.0, 1.0).widths == pytest.approx([pair, pair])
    rows = Limit.of("distribution", samples, 0.0, 1.0).widths
    assert rows == pytest.approx([(1 / 5 + 1 / 7) / 2])
    assert Limit.of("distribution", samples, 0.16, 1.0).widths == pytest.approx(
        [(1 / 5 + 0.16) / 2]
    )
