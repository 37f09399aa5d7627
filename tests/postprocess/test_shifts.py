"""Groups that move as wholes: many rows by way of few, one count."""

import numpy as np
import pytest

from rankfair.postprocess import shifts
from rankfair.postprocess.levels import Bundles
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


@pytest.mark.parametrize("groups", [2, 3, 5])
@pytest.mark.parametrize("decimals", [1, 9])
def test_small_groups_land_within_a_pair_and_come_nearer_where_values_tie(
    groups, decimals
):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        samples = [
            Sample.of(np.round(rng.normal(g / 2, 1, 30 + 7 * g), decimals))
            for g in range(groups)
        ]
        found = shifted(Bundles.of(samples), 0.05)
        before = Standing.of([s.values for s in samples], samples)
        # Groups take turns: of three or more the last may put another a pair outside.
        pair = 1.01 / (30 * (sum(len(s.values) for s in samples) - 30))
        most = pair * (groups > 2) if decimals == 9 else before.auc_excess(0.05)
        assert found.standing.auc_excess(0.05) <= max(0, most)
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
