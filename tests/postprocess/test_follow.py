"""Maps between and beyond the predictions they were learnt from."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankfair.postprocess.follow import FOLLOW, knots, lines, nearest


def drawn(seed, n):
    """A map with flat stretches, and predictions on, between and beyond its knots."""
    rng = np.random.default_rng(seed)
    start = np.unique(np.round(rng.normal(size=n), 1))
    end = np.sort(np.round(rng.normal(0.3, 0.5, len(start)), 1))
    return start, end, np.concatenate((start, rng.normal(0, 2, 50)))


@given(st.integers(0, 10**6), st.integers(1, 30))
def test_nearest_is_the_least_movement_that_keeps_the_order(seed, n):
    start, end, m = drawn(seed, n)
    moved = nearest(np.stack((start, end)), m)
    for value, found in zip(m, moved, strict=True):
        least = max(end[start <= value], default=-np.inf)
        most = min(end[start >= value], default=np.inf)
        assert found == min(max(value, least), most)


@given(st.integers(0, 10**6), st.integers(1, 30), st.sampled_from(sorted(FOLLOW)))
def test_maps_are_monotone_and_keep_their_knots(seed, n, constraint):
    start, end, m = drawn(seed, n)
    table = np.stack((start, end))
    moved = FOLLOW[constraint](table, m)
    assert (np.diff(moved[np.argsort(m, kind="stable")]) >= -1e-12).all()
    assert np.array_equal(moved[: len(start)], end)


@given(st.integers(0, 10**6), st.integers(1, 30), st.sampled_from(sorted(FOLLOW)))
def test_knots_between_equal_ends_can_be_left_out(seed, n, constraint):
    start, end, m = drawn(seed, n)
    few = knots(start, end)
    assert few.shape[1] <= 2 * len(np.unique(end))
    assert FOLLOW[constraint](few, m) == pytest.approx(
        FOLLOW[constraint](np.stack((start, end)), m)
    )


@pytest.mark.parametrize("follow", [nearest, lines])
def test_a_map_that_moves_nothing_keeps_every_bit(follow):
    values = np.sort(np.random.default_rng(0).normal(size=30))
    m = np.random.default_rng(1).normal(0, 3, 200)
    assert np.array_equal(follow(np.stack((values, values)), m), m)
