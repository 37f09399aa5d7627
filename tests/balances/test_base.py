import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankfair.balances import (
    BALANCES,
    SIDES,
    Band,
    Distribution,
    Mean,
    Rank,
    Residual,
    make_balance,
)

numbers = st.floats(-1e6, 1e6)


@given(low=numbers, width=st.floats(0, 1e6), value=numbers)
def test_a_miss_is_the_signed_distance_to_the_band(low, width, value):
    band = Band(low, low + width)
    miss = band.miss(value)
    assert (miss == 0) == (band.low <= value <= band.high)
    assert (miss > 0) == (value > band.high)
    nearest = min(max(value, band.low), band.high)
    assert miss == pytest.approx(value - nearest)


@given(low=numbers, width=st.floats(0, 1e6), least=st.floats(0, 1e6))
def test_a_band_widened_holds_the_old_one_around_the_same_middle(low, width, least):
    band = Band(low, low + width)
    wide = band.at_least(least)
    assert wide.low <= band.low + 1e-6
    assert wide.high >= band.high - 1e-6
    assert wide.high - wide.low == pytest.approx(max(width, least), abs=1e-6)
    assert wide.low + wide.high == pytest.approx(band.low + band.high, abs=1e-6)


@pytest.mark.parametrize("name", BALANCES)
@pytest.mark.parametrize("side", SIDES)
def test_a_balance_is_made_by_name_or_passed_through(name, side):
    balance = make_balance(name, 0.125, side)
    assert (balance.epsilon, balance.side) == (0.125, side)
    assert make_balance(balance) is balance


def test_the_names():
    assert dict(BALANCES) == {
        "rank": Rank,
        "mean": Mean,
        "residual": Residual,
        "distribution": Distribution,
    }
