"""Common levels, and bundles that stand for many rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankfair.postprocess import levels, maps
from rankfair.postprocess.levels import Bundles, lay, spacing
from rankfair.postprocess.maps import MAPS, Status, distribution
from rankfair.projections.chains import least_movement
from rankfair.projections.samples import Sample, Standing


def drawn(seed, sizes, decimals=8, scale=1.0):
    rng = np.random.default_rng(seed)
    return [
        Sample.of(
            np.round(scale * rng.normal(g, 1 + g / 2, size), decimals),
            rng.integers(1, 4, size) if seed % 3 == 0 else None,
        )
        for g, size in enumerate(sizes)
    ]


@pytest.fixture
def bundled(monkeypatch):
    """Bundle already a few thousand rows."""
    monkeypatch.setattr(levels, "BUNDLED", 1500)
    monkeypatch.setattr(levels, "BUNDLES", 600)
    monkeypatch.setattr(levels, "TAIL", 50)


@given(
    st.integers(0, 10**6),
    st.lists(st.integers(1, 60), min_size=2, max_size=4),
    st.sampled_from([0, 1, 8]),
    st.sampled_from([0.0, 0.1, 1.0, 30.0]),
)
def test_levels_keep_the_order_and_raise_no_ks(seed, sizes, decimals, space):
    samples = drawn(seed, sizes, decimals)
    moved = least_movement(samples, 0.1)
    laid = lay(Bundles.single(samples), moved, space)
    for before, values in zip(moved, laid.values, strict=True):
        assert (np.diff(values) >= 0).all()
        assert np.abs(values - before).max() <= space * (1 + 1e-9) + 1e-9
    assert laid.standing.ks <= Standing.of(moved, samples).ks + 1e-12
    counted = Standing.of(laid.values, samples)
    assert laid.standing.ks == pytest.approx(counted.ks, abs=1e-12)
    assert laid.standing.aucs == pytest.approx(counted.aucs)


def test_levels_follow_the_scale_of_the_predictions_and_not_far_values():
    small, large = spacing(drawn(1, (80, 90))), spacing(drawn(1, (80, 90), scale=1e6))
    assert large == pytest.approx(1e6 * small, rel=1e-6)
    samples = drawn(1, (80, 90))
    far = Sample.of(np.append(samples[0].values, 1e9))
    assert spacing([far, samples[1]]) == pytest.approx(small, rel=0.2)
    found = distribution([far, samples[1]], 0.05)
    assert len(np.unique(np.concatenate(found.values))) > 30
    assert found.values[0][-1] == 1e9


@pytest.mark.parametrize("constraint", MAPS)
@pytest.mark.parametrize("sizes", [(80, 90), (60, 40, 50)])
def test_where_zero_is_does_not_matter(constraint, sizes):
    for seed, epsilon in enumerate((0.0, 0.01, 0.05, 0.2)):
        samples = drawn(seed, sizes)
        moved = MAPS[constraint](samples, epsilon).values
        # Powers of two: the same predictions to the last bit but some.
        there = [Sample(s.values + 4096.0, s.counts, s.row) for s in samples]
        for one, other in zip(
            moved, MAPS[constraint](there, epsilon).values, strict=True
        ):
            assert other - 4096.0 == pytest.approx(one, abs=1e-9)


def test_a_far_prediction_leaves_the_levels_of_others():
    samples = drawn(1, (80, 90))
    far = [Sample.of(np.append(samples[0].values, 1e30)), samples[1]]
    found = distribution(far, 0.05)
    assert len(np.unique(np.concatenate(found.values))) > 30


def test_more_rows_have_more_levels():
    few, many = (spacing(drawn(1, (n, n))) for n in (200, 20_000))
    assert many < few


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.02, 0.2]))
def test_what_is_ahead_goes_up_a_level(seed, epsilon):
    samples = drawn(seed, (40, 55, 30))
    laid = lay(Bundles.single(samples), [s.values for s in samples], 0.5)
    within = laid.within(epsilon)
    for values, before in zip(within.values, laid.values, strict=True):
        assert (np.diff(values) >= 0).all() and (values >= before).all()
    rows = max(np.diff(s.ends, prepend=0).max() for s in samples)
    assert within.standing.ks <= epsilon + rows + 1e-9


@pytest.mark.usefixtures("bundled")
@pytest.mark.parametrize("seed", range(3))
def test_bundles_hold_all_rows_and_leave_the_ends_alone(seed):
    samples = drawn(seed, (3000, 900))
    bundles = Bundles.of(samples)
    assert not bundles.whole and bundles.samples[1] is samples[1]
    few, starts = bundles.samples[0], bundles.starts[0]
    assert few.total == samples[0].total
    assert starts[0] == 0 and starts[-1] == len(samples[0].values)
    assert np.array_equal(few.values[:50], samples[0].values[:50])
    assert np.array_equal(few.values[-50:], samples[0].values[-50:])
    assert 1 / 600 <= 2 * bundles.width <= 2 / 600
    assert Bundles.single(samples).width == 0
    exact = Standing.of([s.values for s in samples], samples)
    near = Standing.of([s.values for s in bundles.samples], bundles.samples)
    assert near.ks == pytest.approx(exact.ks, abs=2 * bundles.width)
    assert near.aucs == pytest.approx(exact.aucs, abs=2 * bundles.width)


def movement(samples, found):
    pairs = zip(samples, found.values, strict=True)
    return sum(s.weights @ (v - s.values) ** 2 for s, v in pairs)


@pytest.mark.parametrize("constraint", MAPS)
@pytest.mark.parametrize("sizes", [(3000, 4000), (2500, 3000, 3500), (3000, 200)])
@pytest.mark.parametrize("seed", [0, 1])
def test_bundled_maps_meet_the_band_and_move_as_little(
    constraint, sizes, seed, request
):
    samples = drawn(seed, sizes)
    whole = MAPS[constraint](samples, 0.02)
    request.getfixturevalue("bundled")
    found = MAPS[constraint](samples, 0.02)
    assert found.status is whole.status is Status.SATISFIED
    counted = Standing.of(found.values, samples)
    assert found.standing.ks == pytest.approx(counted.ks, abs=1e-12)
    assert found.standing.aucs == pytest.approx(counted.aucs)
    assert movement(samples, found) == pytest.approx(movement(samples, whole), rel=0.05)


@pytest.mark.usefixtures("bundled")
@pytest.mark.parametrize("constraint", MAPS)
def test_many_rows_in_the_band_stay(constraint):
    rng = np.random.default_rng(0)
    samples = [Sample.of(rng.normal(size=n)) for n in (4000, 3000)]
    found = MAPS[constraint](samples, 0.1)
    assert found.status is Status.INACTIVE
    assert all(v is s.values for v, s in zip(found.values, samples, strict=True))


@pytest.mark.usefixtures("bundled")
def test_ties_that_bundles_cannot_follow_are_solved_row_by_row(monkeypatch):
    samples = drawn(1, (3000, 4000))
    seen = []
    monkeypatch.setattr(
        maps,
        "least_movement",
        lambda s, slack: seen.append(s) or least_movement(s, slack),
    )
    # What is left of a band that half of the rows of a bundle exceed.
    monkeypatch.setattr(levels.Laid, "within", lambda laid, _: laid)
    found = distribution(samples, 0.02)
    assert found.status is Status.SATISFIED
    assert [len(s[0].values) for s in seen][-1] == 3000
