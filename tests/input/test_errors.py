import copy
import io
import json
import unicodedata
from contextlib import redirect_stdout

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankfair.cli.errors import echo_json
from rankfair.input.errors import Argument, InputError, clipped, printable, shown

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
