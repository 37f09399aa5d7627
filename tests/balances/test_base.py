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
