"""Numbers and names as text, and as places on a scale."""

import itertools
import json
import math

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from rankfair.report import text
from rankfair.stats.estimate import Estimate

few = settings(max_examples=20)
values = st.floats(-1e6, 1e6)
TURNING = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\0")


@few
@given(st.text())
@example("\u202ea\u2066b\0\ud800")
def test_shown_text_can_be_written_and_has_no_marks_that_turn_text_round(any_text):
    out = text.shown(any_text)
    out.encode()
    assert not set(out) & TURNING
    assert text.shown(out) == out


@few
@given(st.lists(st.text(alphabet="<>&'\"/! -ascript\u2028\u2029é\\")))
def test_json_says_the_same_and_holds_no_tag(value):
    out = text.as_json(value)
    assert json.loads(out) == value
    assert not set(out) & set("<>&'\u2028\u2029")


@few
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32)))
@example([0.0, 5.6e-05])
def test_numbers_alike_have_the_same_decimals_and_four_figures(numbers):
    out = text.alike(numbers)
    read = [float(one.replace("−", "-").replace(",", "")) for one in out]
    largest = max(map(abs, numbers), default=0.0)
    assert read == pytest.approx(numbers, abs=6e-4 * largest)
    if 1e-5 < largest < 1e6:
        assert len({len(one.partition(".")[2]) for one in out}) == 1


def test_what_is_no_number_is_a_dash_and_no_end_is_said():
    wanted = ["–", "∞", "−∞"]
    assert [text.decimal(v) for v in (math.nan, math.inf, -math.inf)] == wanted
    ends = (1.0, 2.0), (math.nan, 2.0), (1.0, math.nan)
    said = [text.cell(Estimate(1.5, *each))["interval"] for each in ends]
    assert said == ["1.000 to 2.000", "", ""]
    said = [text.chance(p) for p in (0.0, 0.00099, 0.001, 1.0, math.nan, None)]
    assert said == ["p < 0.001", "p < 0.001", "p = 0.001", "p = 1.000", "", ""]


@few
@given(values, values, st.integers(2, 8))
def test_ticks_are_even_inside_and_near_the_number_asked_for(low, width, about):
    high = low + abs(width)
    assume(high - low > 1e-3 * max(1.0, abs(low)))
    found = text.ticks(low, high, about)
    slack = 1e-6 * (high - low)
    assert all(low - slack <= tick <= high + slack for tick in found)
    assert 1 <= len(found) <= about + 2
    steps = [b - a for a, b in itertools.pairwise(found)]
    assert steps == pytest.approx([steps[0]] * len(steps), rel=1e-6) if steps else True


@pytest.mark.parametrize("log", [False, True])
def test_a_scale_clips_and_has_ticks_in_their_places(log):
    scale = text.Scale(12_000.0, 310_000.0, 10, 110, log)
    assert scale(scale.low) == 10 and scale(scale.high) == 110
    assert scale.clipped(1.0) == 10 and scale.clipped(1e9) == 110
    half = math.sqrt(scale.low * scale.high) if log else (scale.low + scale.high) / 2
    assert scale(half) == 60
    ticks = dict(scale.ticks())
    wanted = ["20,000", "50,000", "100,000", "200,000"] if log else ["100,000"]
    assert set(wanted) <= set(ticks.values())
    assert all(scale(float(t.replace(",", ""))) == x for x, t in ticks.items())


def test_the_widest_range_has_places_and_ticks():
    most = 1.7976931348623157e308
    scale = text.Scale(-most, most, 0, 100)
    assert [scale(v) for v in (-most, 0.0, most)] == [0, 50, 100]
    found = text.ticks(-most, most)
    assert len(found) >= 3 and all(map(math.isfinite, found))
    assert found == sorted(found) and -most <= found[0] and found[-1] <= most
    assert text.covering([-most, most]) == (-most, most)
    assert len(text.Scale(1e-300, most, 0, 100, log=True).ticks()) >= 3
