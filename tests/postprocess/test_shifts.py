"""Groups that move as wholes: many rows by way of few, one count."""

import numpy as np
import pytest

from rankfair.postprocess import shifts
from rankfair.postprocess.levels import Bundles
from rankfair.postprocess.maps import rank
from rankfair.postprocess.shifts import shifted
from rankfair.projections.samples import Sample, Standing

EPSILON = 0.01


def drawn(groups, kind, seed=0):
    """Groups large enough to be bundled."""
    rng, n_rows = np.random.default_rng(seed), 20_000 * groups
    codes = rng.integers(0, groups, n_rows)
    noise = rng.gamma(1.5, size=n_rows) if kind == "skewed" else rng.normal(size=n_rows)
    m = noise * (1 + 0.3 * codes) + 0.7 * codes
    m = np.round(m, 3) if kind == "tied" else m
    return [Sample.of(m[codes == g]) for g in range(groups)]


def steps_of(samples, found):
    pairs = zip(samples, found.values, strict=True)
    return np.array([values[0] - sample.values[0] for sample, values in pairs])


@pytest.mark.parametrize("groups", [2, 3, 4])
@pytest.mark.parametrize("kind", ["normal", "skewed"])
def test_many_rows_are_counted_once_and_land_at_the_edge(groups, kind, monkeypatch):
    samples = drawn(groups, kind)
    counted = []
    count = Standing.of.__func__

    def spy(cls, values, of):
        counted.append(sum(len(sample.values) for sample in of))
        return count(cls, values, of)

    monkeypatch.setattr(Standing, "of", classmethod(spy))
    found = shifted(Bundles.of(samples), EPSILON)
    excess = found.standing.auc_excess(EPSILON)
    assert -2 * shifts.NEAR * EPSILON <= excess <= 0
    assert counted.count(20_000 * groups) == 1
    # The record holds the count of all rows.
    again = Standing.of([np.array(values) for values in found.values], samples)
    assert found.standing.aucs == pytest.approx(again.aucs, abs=1e-15)


@pytest.mark.parametrize("groups", [2, 3, 4])
@pytest.mark.parametrize("kind", ["normal", "skewed", "tied"])
def test_few_rows_find_the_shift_of_all(groups, kind):
    samples = drawn(groups, kind)
    found = steps_of(samples, shifted(Bundles.of(samples), EPSILON))
    whole = steps_of(samples, shifted(Bundles.single(samples), EPSILON))
    # A shift of a hundredth of the spread changes AUC by about 0.003.
    assert found == pytest.approx(whole, abs=2e-3)


def small(groups, decimals, seed, rows=12):
    """Groups of few rows, which tie with few decimals."""
    rng = np.random.default_rng(seed)
    return [
        Sample.of(np.round(rng.normal(g / 2, 1, rows + 5 * g), decimals))
        for g in range(groups)
    ]


@pytest.mark.parametrize("groups", [2, 3, 5])
@pytest.mark.parametrize("decimals", [1, 9])
def test_small_groups_land_in_the_band_or_nearer_to_it(groups, decimals):
    for seed in range(5):
        samples = small(groups, decimals, seed, rows=30)
        found = shifted(Bundles.of(samples), 0.05)
        before = Standing.of([s.values for s in samples], samples)
        left = max(0, before.auc_excess(0.05)) if decimals == 1 else 0
        assert found.standing.auc_excess(0.05) <= left
        for sample, values in zip(samples, found.values, strict=True):
            assert np.ptp(values - sample.values) < 1e-12


@pytest.mark.parametrize("rounds", [1, 4])
@pytest.mark.parametrize("groups", [2, 3])
def test_too_few_quantiles_are_put_right_by_the_counts(groups, rounds, monkeypatch):
    samples = drawn(groups, "skewed")
    monkeypatch.setattr(shifts, "FEW", 12)
    monkeypatch.setattr(shifts, "ROUNDS", rounds)
    excess = shifted(Bundles.of(samples), EPSILON).standing.auc_excess(EPSILON)
    assert -2 * shifts.NEAR * EPSILON <= excess <= 0


@pytest.mark.parametrize("groups", [2, 3, 5])
@pytest.mark.parametrize("decimals", [1, 9])
def test_the_order_of_groups_does_not_matter(groups, decimals):
    for seed in range(3):
        samples = small(groups, decimals, seed)
        order = np.random.default_rng(seed).permutation(groups)
        turned = [samples[g] for g in order]
        for one, other in (
            (shifted(Bundles.of(samples), 0.02), shifted(Bundles.of(turned), 0.02)),
            (rank(samples, 0.02), rank(turned, 0.02)),
        ):
            for g, values in zip(order, other.values, strict=True):
                assert values == pytest.approx(one.values[g], abs=1e-12)


def test_groups_of_a_few_rows_are_level_to_a_pair():
    for seed in range(6):
        samples = small(4, 9, seed, rows=8)
        assert shifted(Bundles.of(samples), 0.0).standing.auc_excess(0.0) <= 0


def test_two_groups_that_tie_end_as_near_as_they_can():
    # A block of three passes one row of the other group, then two at once.
    samples = [Sample.of(np.zeros(3)), Sample.of(np.array([0.0, 5.0, 5.0]))]
    found = shifted(Bundles.of(samples), 0.0)
    assert abs(found.standing.lead(0)) == pytest.approx(1 / 6)


def least_excess(samples, epsilon):
    """That of the best shift of two groups of whole numbers: at jumps, and between."""
    b, a = samples
    jumps = np.unique(np.subtract.outer(b.values, a.values))
    places = np.concatenate((jumps - 0.5, jumps, jumps + 0.5))
    return min(
        Standing.of([b.values, a.values + x], samples).auc_excess(epsilon)
        for x in places
    )


@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e100 / 3])
@pytest.mark.parametrize("leaves", [2, 4, 7])
def test_two_groups_of_few_values_end_nearest_in_any_unit(leaves, unit):
    # As predictions of a small tree, once with the same distances in both groups: many
    # pairs pass at once, and where they tie only half of them have.
    for seed in range(8):
        rng = np.random.default_rng(seed)
        values = rng.choice(1000, (2, leaves), replace=False)
        values[1] = values[1] if seed % 2 else values[0] + 70
        whole = [
            Sample.of(own[rng.integers(0, leaves, 40)].astype(float)) for own in values
        ]
        epsilon = (0.0, 0.02)[seed // 2 % 2]
        placed = [Sample(unit * s.values, s.counts, s.row) for s in whole]
        found = shifted(Bundles.of(placed), epsilon)
        steps = [v - s.values for v, s in zip(found.values, placed, strict=True)]
        assert all(np.ptp(own) <= 1e-6 * unit for own in steps)
        least = max(least_excess(whole, epsilon), 0.0)
        assert max(found.standing.auc_excess(epsilon), 0.0) <= least + 1e-12


def test_of_many_values_groups_are_shifted_in_turn_only(monkeypatch):
    samples = small(3, 1, 0)
    nearest = shifted(Bundles.of(samples), 0.0).standing.auc_excess(0.0)
    monkeypatch.setattr("rankfair.projections.sweep.MANY", 1)
    assert shifted(Bundles.of(samples), 0.0).standing.auc_excess(0.0) >= nearest > 0
