import math

import numpy as np
import pytest

from rankfair.input.errors import (
    check_bins,
    check_choice,
    check_count,
    check_flag,
    check_number,
    check_seed,
    check_verbose,
    values_to_try,
)
from refusals import sentence


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
