"""What the three kinds of maps promise."""

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import block_array, coo_array, eye_array, hstack, kron, vstack

from rankfair.postprocess.follow import nearest
from rankfair.postprocess.maps import MAPS, Status, distribution, rank, shift
from rankfair.postprocess.search import Search
from rankfair.projections.samples import Sample, Standing


def two(seed=0, sizes=(300, 400), gap=1.0):
    rng = np.random.default_rng(seed)
    return [
        Sample.of(rng.normal(g * gap, 1 + 0.4 * g, size))
        for g, size in enumerate(sizes)
    ]


def movement(samples, moved):
    return sum(
        s.weights @ (v - s.values) ** 2 for s, v in zip(samples, moved, strict=True)
    ) / sum(s.total for s in samples)


@pytest.mark.parametrize("sizes", [(300, 400), (30, 900), (3000, 2000)])
@pytest.mark.parametrize("epsilon", [0.0, 0.01, 0.05])
@pytest.mark.parametrize("gap", [1.0, -0.6])
def test_rank_lands_at_the_edge_of_the_band(sizes, epsilon, gap):
    samples = two(1, sizes, gap)
    found = rank(samples, epsilon)
    n_a, n_b = sizes
    lead = abs(found.standing.aucs[1] - 0.5)
    assert found.status is Status.SATISFIED
    assert lead <= max(epsilon, 1 / (2 * n_a * n_b)) * (1 + 1e-9)
    # Steps of the smaller group are what it can miss the edge by.
    assert lead >= epsilon - 1 / min(sizes)


@pytest.mark.parametrize("epsilon", [0.0, 0.01, 0.05])
@pytest.mark.parametrize("seed", range(3))
def test_at_equal_auc_rank_has_no_larger_ks_than_the_shift(epsilon, seed):
    samples = two(seed)
    ours, shifted = rank(samples, epsilon), shift(samples, epsilon)
    assert shifted.status is Status.SATISFIED
    assert ours.standing.ks <= shifted.standing.ks


def test_shift_is_the_same_for_all_rows_of_a_group():
    samples = two()
    for sample, moved in zip(samples, shift(samples, 0.01).values, strict=True):
        assert np.ptp(moved - sample.values) < 1e-12


@pytest.mark.parametrize("constraint", MAPS)
def test_three_groups(constraint):
    rng = np.random.default_rng(0)
    samples = [Sample.of(rng.normal(0.4 * g, 1, 200 + 50 * g)) for g in range(3)]
    found = MAPS[constraint](samples, 0.02)
    assert found.status is Status.SATISFIED
    if constraint == "distribution":
        assert found.standing.ks <= 0.02 + 1e-9
    assert np.abs(found.standing.aucs - 0.5).max() <= 0.02 + 1e-9


@pytest.mark.parametrize("constraint", MAPS)
def test_what_is_in_the_band_stays(constraint):
    samples = two()
    moved = MAPS[constraint](samples, 0.05).values
    again = [
        Sample.of(np.repeat(v, s.weights)) for v, s in zip(moved, samples, strict=True)
    ]
    found = MAPS[constraint](again, 0.05)
    assert found.status is Status.INACTIVE
    for values, sample in zip(found.values, again, strict=True):
        assert values is sample.values


@pytest.mark.parametrize("constraint", MAPS)
def test_many_rows_are_searched_on_few_first(constraint):
    samples = two(3, (20_000, 15_000))
    found = MAPS[constraint](samples, 0.01)
    assert found.status is Status.SATISFIED
    if constraint != "distribution":
        assert abs(found.standing.aucs[1] - 0.5) == pytest.approx(0.01, abs=1e-4)


def test_a_wrong_guess_from_few_rows_is_corrected():
    # One far value in ten thousand is not among the quantiles that are tried first.
    rng = np.random.default_rng(0)
    values = np.round(rng.normal(size=9000), 2)
    samples = [
        Sample.of(values),
        Sample.of(np.append(values + 0.5, rng.normal(size=4000))),
    ]
    assert rank(samples, 0.001).status is Status.SATISFIED


@pytest.mark.parametrize("guess", [-0.3, 0.0, 0.02, 0.3])
def test_a_bracket_around_any_guess_holds_the_edge(guess):
    first, second = two(3)
    search = Search([second, first], 0.02)  # the one that stands too high comes first
    low, high = search._around(guess, -1.0, 0.5, search._probe)
    below, above = search._probe(low), search._probe(high)
    assert search._at_edge(below) or below.excess <= 0 < above.excess


def test_ties_that_no_map_can_part():
    samples = [
        Sample.of(np.repeat([0.0, 1.0], [6, 4])),
        Sample.of(np.repeat([0.0, 1.0], [3, 7])),
    ]
    found = distribution(samples, 0.1)
    assert found.status is Status.INFEASIBLE
    assert found.standing.ks <= 0.3
    assert np.isfinite(np.concatenate(found.values)).all()


@pytest.mark.parametrize("constraint", MAPS)
def test_constant_predictions_are_fair(constraint):
    samples = [Sample.of(np.full(5, 2.0)), Sample.of(np.full(7, 2.0))]
    assert MAPS[constraint](samples, 0.0).status is Status.INACTIVE
    apart = [Sample.of(np.full(5, 2.0)), Sample.of(np.full(7, 3.0))]
    found = MAPS[constraint](apart, 0.0)
    assert found.status in (Status.SATISFIED, Status.INFEASIBLE)
    if constraint == "rank":
        assert np.concatenate(found.values) == pytest.approx(31 / 12)


@pytest.mark.parametrize("sizes", [(1, 1), (1, 2), (2, 2), (2, 50)])
@pytest.mark.parametrize("constraint", MAPS)
def test_tiny_groups(sizes, constraint):
    samples = two(5, sizes, gap=3.0)
    found = MAPS[constraint](samples, 0.01)
    before = Standing.of([s.values for s in samples], samples)
    assert found.standing.auc_excess(0.01) <= max(before.auc_excess(0.01), 0)
    for values in found.values:
        assert (np.diff(values) >= 0).all()


# The optimum of randomised maps between bins (Xian et al. 2024) as a linear programme


def binned_optimum(samples, epsilon, edges):
    """The shares of each bin that go to each bin, for two groups with KS ≤ ε.

    Unknowns are the two plans and the distribution functions of what arrives.
    """
    bins, size = len(edges) - 1, (len(edges) - 1) ** 2
    centres = (edges[1:] + edges[:-1]) / 2
    total = sum(s.total for s in samples)
    one, step = np.ones(bins), np.eye(bins) - np.eye(bins, k=-1)
    leave = kron(eye_array(bins), one[None, :])
    arrive = kron(one[None, :], eye_array(bins))
    none, zero = coo_array((bins, size)), coo_array((bins, bins))
    equal = block_array(
        [
            [leave, none, zero, zero],
            [none, leave, zero, zero],
            [arrive, none, -step, zero],
            [none, arrive, zero, -step],
        ],
        format="csr",
    )
    ahead = hstack(
        (coo_array((bins, 2 * size)), eye_array(bins), -eye_array(bins)), format="csr"
    )
    mass = [
        np.histogram(s.values, edges, weights=s.weights)[0] / s.total for s in samples
    ]
    cost = np.subtract.outer(centres, centres).ravel() ** 2
    solved = linprog(
        np.concatenate(
            [*(s.total / total * cost for s in samples), np.zeros(2 * bins)]
        ),
        A_ub=vstack((ahead, -ahead)),
        b_ub=np.full(2 * bins, epsilon),
        A_eq=equal,
        b_eq=np.concatenate((*mass, np.zeros(2 * bins))),
        method="highs-ipm",
    )
    return solved.fun, np.maximum(solved.x[: 2 * size], 0).reshape(2, bins, bins)


@pytest.mark.parametrize("bins", [25, 200])
@pytest.mark.parametrize("epsilon", [0.02, 0.1])
@pytest.mark.parametrize("gap", [0.0, 1.0])
def test_no_further_than_the_linear_programme_over_bins(epsilon, gap, bins):
    samples = two(2, gap=gap)
    ours = movement(samples, distribution(samples, epsilon).values)
    ends = [(s.values[0], s.values[-1]) for s in samples]
    edges = np.linspace(np.min(ends), np.max(ends), bins + 1)
    theirs, _ = binned_optimum(samples, epsilon, edges)
    # Moves between centres of bins are off by less than a bin each.
    assert np.sqrt(ours) == pytest.approx(np.sqrt(theirs), abs=edges[1] - edges[0])


def test_on_new_rows_no_further_than_the_linear_programme():
    epsilon, seeds = 0.01, range(4)
    gained = []
    for seed in seeds:
        old, new = two(seed, (400, 600)), two(100 + seed, (400, 600))
        moved = distribution(old, epsilon).values
        ends = [(s.values[0], s.values[-1]) for s in (*old, *new)]
        edges = np.linspace(np.min(ends), np.max(ends), 201)
        centres = (edges[1:] + edges[:-1]) / 2
        _, plans = binned_optimum(old, epsilon, edges)
        ours = theirs = 0.0
        for start, end, sample, plan in zip(old, moved, new, plans, strict=True):
            m = sample.values
            mapped = nearest(np.stack((start.values, end)), m)
            ours += ((mapped - m) ** 2).sum()
            # The mean over draws; a bin without rows moves as the nearest with some.
            mass = plan.sum(axis=1)
            held = np.flatnonzero(mass > 1e-9)
            cell = np.clip(np.searchsorted(edges, m, "right") - 1, 0, 199)
            near = held[np.abs(cell[:, None] - held).argmin(axis=1)]
            far = (
                centres[None, :] + (centres[cell] - centres[near])[:, None] - m[:, None]
            )
            theirs += (plan[near] * far**2).sum(axis=1) @ (1 / mass[near])
        gained.append(theirs - ours)
    assert np.mean(gained) > 0


@pytest.mark.parametrize("n_rows", [15, 24, 54])
@pytest.mark.parametrize("epsilon", [0.0, 0.01])
def test_rank_of_several_small_groups_is_no_farther_off_than_a_shift(n_rows, epsilon):
    rng = np.random.default_rng(n_rows)
    samples = [Sample.of(rng.normal(size=n_rows // 3) + g) for g in range(3)]
    ours, wholes = rank(samples, epsilon), shift(samples, epsilon)
    assert ours.standing.auc_excess(epsilon) <= max(
        wholes.standing.auc_excess(epsilon), 0.0
    )
