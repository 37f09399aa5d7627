import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankfair.constraints import (
    CONSTRAINTS,
    SIDES,
    Band,
    make_constraint,
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


@pytest.mark.parametrize("name", CONSTRAINTS)
@pytest.mark.parametrize("side", SIDES)
def test_a_constraint_is_made_by_name_or_passed_through(name, side):
    constraint = make_constraint(name, 0.125, side)
    assert (constraint.epsilon, constraint.side) == (0.125, side)
    assert make_constraint(constraint) is constraint
