"""Refusals, the words in them, and checks of settings."""

import copy
import io
import json
import math
import unicodedata
from contextlib import redirect_stdout

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankfair.cli.errors import echo_json
from rankfair.input.errors import (
    Argument,
    InputError,
    check_bins,
    check_choice,
    check_count,
    check_flag,
    check_number,
    check_seed,
    check_verbose,
    clipped,
    printable,
    shown,
    values_to_try,
)
from refusals import sentence

ANY = st.text(st.characters())


@given(ANY)
def test_what_is_printable_is_seen(text):
    out = printable(text)
    assert printable(out) == out
    for sign in out:
        assert unicodedata.category(sign) not in ("Cc", "Cs", "Zl", "Zp")
        assert unicodedata.bidirectional(sign) not in (
            *("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"),
        )


@pytest.mark.parametrize("text", ["שלום", "می\u200cخواهم", "👩\u200d🚀", "a b"])
def test_letters_of_all_languages_stay(text):
    assert printable(text) == text


def test_line_ends_are_kept_where_that_is_asked():
    assert printable("a\r\nb", keep="\n") == "a[U+000D]\nb"
    assert shown("a\nb") == '"a[U+000A]b"'


@given(ANY, st.integers(2, 30))
def test_clipped_text_is_never_longer(text, most):
    out = clipped(text, most)
    assert len(out) <= most
    assert out == printable(text) or out.endswith("…")


@given(st.dictionaries(ANY, ANY))
def test_json_is_seen_and_holds_the_value(value):
    with redirect_stdout(io.StringIO()) as stream:
        echo_json(value)
    out = stream.getvalue()
    assert json.loads(out) == value
    assert printable(out, keep="\n") == out


@pytest.mark.parametrize(
    ("argument", "python", "command"),
    [
        ("y", "y", "--y"),
        ("y_pred['m']", "y_pred['m']", "--y_pred['m']"),
        ("what the model predicts", "what the model predicts", None),
        (Argument("bins", 3), "bins=3", "--bins"),
    ],
)
def test_arguments_are_spelt_by_who_shows_them(argument, python, command):
    error = InputError(argument, ("needs ", Argument("cv")), "5", "Try 2.")
    assert str(error) == f"{python} needs cv; got 5. Try 2."
    told = error.render(lambda it: f"--{it.name}")
    assert told == f"{command or python} needs --cv; got 5. Try 2."
    assert str(copy.deepcopy(error)) == str(error)


def test_unknown_choices_list_the_valid_ones_and_the_nearest():
    assert sentence(check_choice, "penalty", "rigde", ("task", "ridge")) == (
        'penalty must be one of "task", "ridge"; got "rigde". Did you mean "ridge"?'
    )
    assert "Did you mean" not in sentence(check_choice, "side", "xyz", ("both",))


ANY_NUMBER = [-0.1, 0.6, math.nan, math.inf, "0.1", None, True]


@pytest.mark.parametrize(
    ("call", "values", "words"),
    [
        (lambda v: check_number("it", v, 0.0, 0.5), ANY_NUMBER, "a number in [0, 0.5]"),
        (lambda v: check_count("it", v), [0, 1.5, True, "3"], "a whole number ≥ 1"),
        (lambda v: check_flag("it", v), [1, "yes", None], "True or False"),
        (lambda v: values_to_try("it", v), [0.1, "ab", []], "a list of values"),
        (lambda v: check_seed("it", v), [-1, "x"], "None, a whole number ≥ 0 or"),
    ],
)
def test_what_is_no_such_setting_is_shown(call, values, words):
    for value in values:
        told = sentence(call, value)
        assert told.startswith(f"it must be {words}")
        assert "; got " in told


def test_settings_of_any_type_pass():
    assert check_number("beta", np.float32(0.5), 0.0) == 0.5
    assert check_number("beta", np.array(2), 0.0) == 2.0
    assert check_count("max_iter", np.int64(3)) == 3
    assert check_flag("blind", np.True_) is True
    assert values_to_try("betas", np.array([1.0, 2.0])) == [1.0, 2.0]
    for check, value in ((check_verbose, True), (check_bins, None), (check_bins, 60)):
        check(value)
    assert "bins must be at most 60; got 61." in sentence(check_bins, 61)
