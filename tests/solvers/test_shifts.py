"""Tasks moved one by one, against counts of all that can come of it."""

import itertools

import numpy as np
import pytest

from oracles import brute_twice_u
from rankfair.balances import Rank
from rankfair.problem import Groups
from rankfair.solvers.shifts import Places, brought_in


def places(seed, k=3, n=24, weighted=False, flat=0):
    """Rounded predictions of tasks, the first few of which have one value each."""
    rng = np.random.default_rng(seed)
    tasks = np.sort(np.concatenate((np.arange(k), rng.integers(0, k, n - k))))
    m = np.round(rng.normal(size=n) + rng.normal(size=k)[tasks], 1)
    m = np.where(tasks < flat, rng.normal(size=k)[tasks], m)
    in_a = rng.random(n) < rng.uniform(0.2, 0.8, k)[tasks]
    in_a[:2] = True, False
    weights = rng.integers(1, 4, n) if weighted else None
    counts = np.bincount(tasks, weights).astype(float)
    value = brute_twice_u(m, in_a, weights)
    return Places.at_rest(m, tasks, Groups(in_a, weights), counts, value)


def counted(at):
    """The value over all rows, pair by pair; tasks put level are so to the bit."""
    m, level = at.m + at.e[at.tasks], (at.flat + at.e)[at.leader]
    m = np.where(np.isnan(at.flat)[at.tasks], m, level[at.tasks])
    return brute_twice_u(m, at.groups.in_a, at.groups.weights)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("flat", [0, 2])
def test_every_move_comes_to_what_it_says(flat, weighted):
    for seed in range(6):
        start = places(seed, weighted=weighted, flat=flat)
        at = start
        for j in (0, 2, 1):
            moves = at.moves(j)
            for i in range(0, len(moves.by), 7):
                there = at.moved(j, moves, i)
                assert there.value == counted(there)
                assert there.cost == pytest.approx(moves.cost[i])
                assert (there.counts * there.e).sum() == pytest.approx(0, abs=1e-9)
            at = at.moved(j, moves, len(moves.by) // 3)


def test_a_task_put_level_stays_so():
    start = places(1, k=4, flat=3)
    moves = start.moves(0)
    level = np.flatnonzero(moves.joins == 1)
    assert len(level) == 1
    joined = start.moved(0, moves, int(level[0]))
    assert joined.movable == [1, 2, 3]
    further = joined.moved(1, joined.moves(1), 0)
    values = (further.flat + further.e)[:2]
    assert values[0] == pytest.approx(values[1])


def best_of_two(start, band):
    """The least cost of two tasks: all that counts is how far they are apart."""
    (a, b), n = start.counts, start.counts.sum()
    apart = start.m[start.tasks == 1][:, None] - start.m[start.tasks == 0]
    edges = np.unique(apart.round(9))
    between = np.concatenate((edges - 1e-6, edges + 1e-6, [0.0]))
    costs = []
    for d in between:
        m = start.m + d * (start.tasks == 0)
        if band.miss(brute_twice_u(m, start.groups.in_a)) == 0:
            costs.append(0.5 * d * d * a * b / n)
    return min(costs, default=np.inf)


def test_two_tasks_against_all_distances():
    landed = 0
    for seed in range(30):
        start = places(seed, k=2, n=14)
        band = Rank(0.0).band(start.groups)
        found = brought_in(start, band)
        least = best_of_two(start, band)
        if found is None:
            assert least == np.inf
            continue
        landed += 1
        assert band.miss(counted(found)) == 0
        assert found.cost <= least + 0.01 * np.sqrt(least) + 1e-6
    assert landed > 10


def test_flat_tasks_against_all_orders():
    """Any order of the values of tasks, ties among them."""
    landed = 0
    for seed in range(20):
        start = places(seed, k=3, n=12, flat=3)
        band = Rank(0.0).band(start.groups)
        found = brought_in(start, band)
        possible = any(
            band.miss(brute_twice_u(np.array(order)[start.tasks], start.groups.in_a))
            == 0
            for order in itertools.product(range(3), repeat=3)
        )
        assert (found is not None) == possible
        if found is not None:
            landed += 1
            assert band.miss(counted(found)) == 0
    assert landed > 5


def test_what_is_inside_already_stays():
    start = places(3)
    pairs = start.groups.total_a * start.groups.total_b
    band = Rank(0.5).band(start.groups)
    assert band.high >= 2 * pairs
    assert brought_in(start, band) is start


def test_more_rows_take_the_first_way_in():
    start = places(0, k=4, n=420)
    m = start.m + np.random.default_rng(0).normal(size=420)
    value = brute_twice_u(m, start.groups.in_a)
    start = Places.at_rest(m, start.tasks, start.groups, start.counts, value)
    band = Rank(0.0).band(start.groups)
    assert band.miss(value) != 0 and not start.few
    found = brought_in(start, band)
    assert band.miss(counted(found)) == 0
