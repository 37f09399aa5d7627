import json
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rankfair.report import text

numbers = st.floats(allow_nan=False, allow_infinity=False, width=32)


@given(st.text())
def test_shown_text_can_be_written_and_has_no_marks_that_turn_text_round(any_text):
    out = text.shown(any_text)
    out.encode()
    assert not set(out) & set(
        "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\0"
    )
    assert text.shown(out) == out


@given(st.text(alphabet=st.characters(codec="utf-8", categories=["L", "N", "P", "S"])))
def test_letters_and_signs_stay_as_they_are(plain):
    assert text.shown(plain) == plain


@given(st.lists(st.text(alphabet="<>&'\"/! -ascript\u2028\u2029é\\")))
def test_json_says_the_same_and_holds_no_tag(value):
    out = text.as_json(value)
    assert json.loads(out) == value
    assert not set(out) & set("<>&'\u2028\u2029")


@given(numbers)
def test_a_decimal_is_the_rounded_number(value):
    out = text.decimal(value)
    read = float(out.replace("−", "-").replace(",", ""))
    assert read == pytest.approx(value, abs=0.000501)
    assert "-" not in out
    assert out.startswith("−") == (round(value, 3) < 0)


@given(st.lists(numbers))
@example([0.0, 5.6e-05])
def test_numbers_alike_have_the_same_decimals_and_four_figures(values):
    out = text.alike(values)
    read = [float(one.replace("−", "-").replace(",", "")) for one in out]
    largest = max(map(abs, values), default=0.0)
    assert read == pytest.approx(values, abs=6e-4 * largest)
    if 1e-5 < largest < 1e6:
        assert len({len(one.partition(".")[2]) for one in out}) == 1


def test_what_is_no_number_is_a_dash_and_no_end_is_said():
    wanted = ["–", "∞", "−∞"]
    assert [text.decimal(v) for v in (math.nan, math.inf, -math.inf)] == wanted


@pytest.mark.parametrize(
    ("low", "high", "said"), [("1", "2", "1 to 2"), ("–", "2", ""), ("1", "–", "")]
)
def test_an_interval_needs_both_ends(low, high, said):
    assert text.between(low, high) == said


def test_p_values():
    said = [text.chance(p) for p in (0.0, 0.00099, 0.001, 1.0, math.nan, None)]
    assert said == ["p < 0.001", "p < 0.001", "p = 0.001", "p = 1.000", "", ""]
