"""Steps of a sample and the comparison of two, against brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankfair.projections import samples as module
from rankfair.projections.samples import Sample, compare


def drawn(seed, size, decimals, weights=None):
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(size=size), decimals)
    return Sample.of(values, weights(rng, size) if weights else None)


WEIGHTS = {
    "rows": None,
    "whole": lambda rng, n: rng.integers(1, 5, n),
    "shares": lambda rng, n: rng.uniform(0.1, 2.0, n),
}


def brute(a, b, first, second):
    """KS and 2U from the table of all pairs."""
    wins = np.sign(np.subtract.outer(a, b)) + 1
    twice_u = first.weights @ wins @ second.weights
    places = np.concatenate((a, b))
    F_a = (first.weights * (a <= places[:, None])).sum(axis=1) / first.total
    F_b = (second.weights * (b <= places[:, None])).sum(axis=1) / second.total
    return np.abs(F_a - F_b).max(), twice_u


@pytest.mark.parametrize("block, few", [(1 << 14, 8), (7, 8), (7, 0), (1, 100)])
@pytest.mark.parametrize("kind", WEIGHTS)
@given(
    st.integers(0, 10**6),
    st.tuples(st.integers(1, 60), st.integers(1, 60)),
    st.sampled_from([0, 1, 8]),
    st.sampled_from([0.0, 0.3, 9.0]),
)
def test_a_comparison_is_that_of_all_pairs(kind, block, few, seed, sizes, decimals, up):
    first, second = (
        drawn(seed + g, size, decimals, WEIGHTS[kind]) for g, size in enumerate(sizes)
    )
    a, b = np.round(first.values, decimals), second.values + up
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK", block)
        patch.setattr(module, "FEW", few)
        found = compare(a, b, first, second)
    ks, twice_u = brute(a, b, first, second)
    assert found.ks == pytest.approx(ks, abs=1e-12)
    assert found.twice_u == pytest.approx(twice_u, rel=1e-12, abs=1e-9)
    assert isinstance(found.twice_u, int) == (kind != "shares")


def test_moved_steps_may_tie():
    first, second = drawn(0, 40, 8), drawn(1, 50, 8)
    a, b = np.round(first.values, 1), np.round(second.values, 1)
    found = compare(a, b, first, second)
    assert (found.ks, found.twice_u) == pytest.approx(brute(a, b, first, second))


@given(
    st.integers(1, 400),
    st.lists(st.floats(-0.5, 1.5), max_size=20),
    st.lists(st.integers(0, 400), max_size=20),
    st.sampled_from(["left", "right"]),
)
def test_steps_below_a_level_are_found_without_their_list(n, levels, whole, side):
    sample = Sample.of(np.arange(float(n)))
    # Levels at which a step ends, a rounding away, and anywhere.
    ends = np.array(whole) / n
    near = np.nextafter(ends, np.inf), np.nextafter(ends, -np.inf)
    every = np.concatenate((levels, ends, *near))
    found = sample.steps_below(every, side)
    assert np.array_equal(found, np.searchsorted(sample.ends, every, side))
