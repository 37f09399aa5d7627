"""Refusals: the record of one, the words in it, and checks of settings."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, TypeAlias

# What moves the cursor, sets a title or a colour, turns text round, has no width, or is
# no character at all.  Signs that scripts and emoji need (U+200C, U+200D) are letters.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f]"
    "|[\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
    "|[\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)


def printable(text: str, keep: str = "", form: str = "[U+{:04X}]") -> str:
    """Return a text in which characters that are not seen are spelt out.

    Parameters
    ----------
    text : str
        Anything: a label, the name of a column or of a file, a whole sentence.
    keep : str
        Characters to leave as they are, the line ends of a text for instance.
    form : str
        How a character is spelt, by its number.

    Returns
    -------
    str
        The text; letters of right-to-left scripts stay.

    Examples
    --------
    >>> printable("a\\x1b[31m\\u202eb"), printable("שלום")
    ('a[U+001B][31m[U+202E]b', 'שלום')
    """

    def spelt(found: re.Match[str]) -> str:
        return found[0] if found[0] in keep else form.format(ord(found[0]))

    return _UNSEEN.sub(spelt, text)


def clipped(text: str, most: int) -> str:
    """Return a text as it is shown, its end left out where it is too long.

    Examples
    --------
    >>> clipped("Native American", 8), clipped("F", 8)
    ('Native …', 'F')
    """
    whole = printable(text)
    return whole if len(whole) <= most else whole[: most - 1] + "…"


def shown(label: Any) -> str:
    """Return a label as it stands in a sentence: text in double quotes.

    Examples
    --------
    >>> shown("F"), shown(101), shown("F\\u200b")
    ('"F"', '101', '"F[U+200B]"')
    """
    text = printable(str(label))
    return f'"{text}"' if isinstance(label, str) else text


def counted(count: int, one: str, many: str | None = None) -> str:
    """Return how many there are of something, one or several.

    Examples
    --------
    >>> counted(1, "row"), counted(2, "row"), counted(0, "row has", "rows have")
    ('1 row', '2 rows', '0 rows have')
    """
    return f"{count} {one if count == 1 else many or one + 's'}"


def listed(labels: Sequence[Any], most: int = 5) -> str:
    """Return up to ``most`` labels in a row, and how many more there are.

    Examples
    --------
    >>> listed(["a", "b", "c"], most=2)
    '"a", "b" and 1 more'
    """
    head = ", ".join(shown(label) for label in labels[:most])
    rest = len(labels) - most
    return f"{head} and {rest} more" if rest > 0 else head


@dataclass(frozen=True)
class Argument:
    """An argument that a sentence names, with a value if it speaks of one.

    Python spells it as a keyword, the command line as an option.

    Examples
    --------
    >>> f'{Argument("tasks")} or {Argument("unseen", "shared")}'
    'tasks or unseen="shared"'
    """

    name: str
    value: Any = None

    def __str__(self) -> str:
        return self.name if self.value is None else f"{self.name}={shown(self.value)}"


Words: TypeAlias = str | Argument | tuple[str | Argument, ...]


# The name of an argument, and a place in it: sensitive_features (column "sex").
_NAME = re.compile(r"(\w+)( \(.*|\[.*)?", re.DOTALL)


class _Told(Exception):  # noqa: N818
    """What is wrong with an argument: expected, got, and the cure, as a record.

    The sentence is "argument expected; got got. cure"; the last two may be missing.
    """

    def __init__(
        self,
        argument: str | Argument,
        expected: Words,
        got: Words = "",
        cure: Words = "",
    ) -> None:
        super().__init__(argument, expected, got, cure)
        self.argument, self.expected = argument, expected
        self.got, self.cure = got, cure

    def render(self, spell: Callable[[Argument], str] = str) -> str:
        """Return the sentence; ``spell`` says how an argument is called."""

        def text(words: Words) -> str:
            parts = words if isinstance(words, tuple) else (words,)
            spelt = (spell(it) if isinstance(it, Argument) else it for it in parts)
            return "".join(spelt)

        subject: Words = self.argument
        if isinstance(subject, str) and (found := _NAME.fullmatch(subject)):
            subject = Argument(found[1]), found[2] or ""
        got = f"; got {text(self.got)}" if self.got else ""
        cure = f" {text(self.cure)}" if self.cure else ""
        return f"{text(subject)} {text(self.expected)}{got}.{cure}"

    def __str__(self) -> str:
        return self.render()


class InputError(_Told, ValueError):
    """An argument that cannot be used.

    Parameters
    ----------
    argument : str or Argument
        The name of the argument in Python, with a place in brackets where it has parts:
        ``X (column "age")``.  What is no such name stays as it is.
    expected : str, Argument or tuple of these
        What should be or is the case, as the rest of a sentence that starts with the
        argument.
    got : str, Argument or tuple of these
        What came.
    cure : str, Argument or tuple of these
        What helps, a whole sentence.

    Examples
    --------
    >>> cure = ("Use ", Argument("unseen", "shared"), ".")
    >>> error = InputError("tasks", "must be known from training", '"B 7"', cure)
    >>> print(error)
    tasks must be known from training; got "B 7". Use unseen="shared".
    >>> error.render(lambda it: f"--{it.name} {it.value or ''}".strip())
    '--tasks must be known from training; got "B 7". Use --unseen shared.'
    """


class InputWarning(_Told, UserWarning):
    """An argument that can be used, with something to know about it."""


def quoted(cell: str, most: int = 40) -> str:
    """Return a cell in quotes, cut where it is long, control characters shown.

    Examples
    --------
    >>> quoted("a\\tb"), quoted("x" * 100, most=5)
    ('"a[U+0009]b"', '"xxxx…"')
    """
    return f'"{clipped(cell, most)}"'


class FileError(InputError):
    """A file that cannot be read or written: its name is the argument.

    Attributes
    ----------
    column : str or None
        The name of the column.
    line : int or None
        The line of the file, counted from 1, where it is known.

    Examples
    --------
    >>> print(FileError("is empty", source="a.csv"))
    a.csv is empty.
    >>> print(FileError("1e999 is too large", source="a.csv", line=2, column="pay"))
    a.csv, line 2, column "pay": 1e999 is too large.
    """

    def __init__(
        self,
        reason: str,
        cure: str = "",
        column: str | None = None,
        line: int | None = None,
        source: str = "",
    ):
        super().__init__(source, reason, cure=cure)
        self.column, self.line = column, line
        self.args = reason, cure, column, line, source

    def render(self, spell: Callable[[Argument], str] = str) -> str:
        """Return the sentence, with its place in the file in front."""
        place = [printable(str(self.argument))] if self.argument else []
        place += [f"line {self.line}"] if self.line is not None else []
        place += [f"column {quoted(self.column)}"] if self.column is not None else []
        link = ": " if self.line is not None or self.column is not None else " "
        head = ", ".join(place) + link if place else ""
        said = filter(None, [f"{head}{self.expected}", str(self.cure)])
        return " ".join(it if it.endswith((".", "?")) else f"{it}." for it in said)


class TableError(FileError):
    """A table that cannot be read or written without a guess."""


def refuse(problems: Sequence[TableError], source: str = "", most: int = 10) -> None:
    """Raise what is wrong with a table, a line each; nothing if all is well.

    Examples
    --------
    >>> refuse([TableError("x is odd", line=4), TableError("is cut", line=2)], "a.csv")
    Traceback (most recent call last):
    ...
    rankfair.input.errors.TableError: a.csv has 2 problems:
    - line 2: is cut.
    - line 4: x is odd.
    """
    for only in problems if len(problems) == 1 else ():
        raise only
    found = sorted(problems, key=lambda it: (str(it.argument), it.line or 0))
    for each in found:
        if each.argument == source:  # which is named above
            each.argument = ""
    more, said = len(found) - most, [f"- {each}" for each in found[:most]]
    first = f"; the first {most}" if more > 0 else ""
    said += [f"- and {more} more."] if more > 0 else []
    if found:
        lines = "\n".join([f"has {len(found)} problems{first}:", *said])
        raise TableError(lines, source=source or "The table")


class ModelFileError(FileError):
    """A file that is no whole model file, or a model that cannot become one."""


# Settings

MOST_GROUPS = 60  # each has a constraint of its own; states and territories are 56
CUT: Words = (
    "Cut it into a few classes first, as ",
    Argument("bins", 4),
    " of a model does, or turn labels that are numbers into text.",
)


def check_choice(argument: str, value: Any, valid: Iterable[str]) -> str:
    """Return ``value`` if it is one of ``valid``; else list them and the nearest.

    Examples
    --------
    >>> check_choice("side", "upper", ("both", "upper"))
    'upper'
    """
    names = list(valid)
    if isinstance(value, str) and value in names:
        return value
    expected = f"must be one of {listed(names, 20)}"
    raise InputError(argument, expected, as_given(value), nearest(value, names))


def nearest(value: Any, names: Sequence[Any]) -> str:
    """Return ``Did you mean …?`` for names close to ``value``, or nothing.

    Examples
    --------
    >>> nearest("rigde", ["task", "ridge"])
    'Did you mean "ridge"?'
    """
    by_case = {str(name).lower(): str(name) for name in names}
    close = difflib.get_close_matches(str(value).lower(), by_case, n=3)
    found = " or ".join(shown(by_case[name]) for name in close)
    return f"Did you mean {found}?" if found else ""


def check_number(
    argument: str, value: Any, low: float, high: float = math.inf
) -> float:
    """Return ``value`` as a float if it is a number in ``[low, high]``.

    Examples
    --------
    >>> check_number("epsilon", 0, 0.0, 0.5)
    0.0
    """
    if getattr(value, "ndim", None) == 0:  # a number of NumPy's
        value = value.item()
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not low <= float(value) <= high or math.isinf(float(value)):
        wanted = f"in [{low:g}, {high:g}]" if math.isfinite(high) else f"≥ {low:g}"
        raise InputError(argument, f"must be a number {wanted}", as_given(value))
    return float(value)


def check_count(argument: str, value: Any, low: int = 1) -> int:
    """Return ``value`` as an int if it is a whole number of at least ``low``.

    Examples
    --------
    >>> check_count("max_iter", 50)
    50
    """
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or int(value) < low:
        raise InputError(argument, f"must be a whole number ≥ {low}", as_given(value))
    return int(value)


def check_bins(bins: Any) -> None:
    """Refuse what is neither None nor a number of groups to cut numbers into."""
    if bins is not None and check_count("bins", bins, 2) > MOST_GROUPS:
        raise InputError("bins", f"must be at most {MOST_GROUPS}", str(bins))


def check_seed(argument: str, value: Any) -> None:
    """Refuse what NumPy cannot make a random generator of."""
    import numpy as np  # `rankfair --help` needs none

    try:
        np.random.default_rng(value)
    except (TypeError, ValueError):
        expected = "must be None, a whole number ≥ 0 or a numpy Generator"
        raise InputError(argument, expected, as_given(value)) from None


def check_verbose(value: Any) -> None:
    """Refuse what is neither a count nor True or False."""
    check_count("verbose", int(value) if isinstance(value, bool) else value, low=0)


def check_jobs(value: Any) -> None:
    """Refuse what joblib cannot count jobs by."""
    if value is not None and (not isinstance(value, Integral) or int(value) == 0):
        expected = "must be a whole number other than 0, or None"
        raise InputError("n_jobs", expected, as_given(value))


def values_to_try(argument: str, values: Any) -> list[Any]:
    """Return what was given as a list; refuse one value, and none.

    Examples
    --------
    >>> values_to_try("epsilons", (0.0, 0.1))
    [0.0, 0.1]
    """
    try:
        found = [] if isinstance(values, str) else list(values)
    except TypeError:  # a number, and an array of no dimension
        found = []
    if not found:
        expected = "must be a list of values to try"
        raise InputError(argument, expected, as_given(values), "Give one or more.")
    return found


def check_flag(argument: str, value: Any) -> bool:
    """Return ``value`` if it is True or False.

    Examples
    --------
    >>> check_flag("blind", True)
    True
    """
    if not isinstance(value, bool) and type(value).__name__ not in ("bool_", "bool"):
        raise InputError(argument, "must be True or False", as_given(value))
    return bool(value)


def no_column(
    argument: str | Argument,
    names: Sequence[Any] = (),
    where: str = "X",
    cure: str = "",
) -> InputError:
    """Return the refusal of a name that is no column; ``names`` are those there are.

    Examples
    --------
    >>> print(no_column(Argument("tasks", "scool"), ["school", "pay"]))
    tasks="scool" is no column of X. Did you mean "school"?
    """
    ref = argument.value if isinstance(argument, Argument) else argument
    cure = cure or nearest(ref, names) or f"It has {listed(names)}."
    return InputError(argument, f"is no column of {where}", cure=cure)


def one_group(
    argument: str | Argument, label: Any, n_rows: int | None = None
) -> InputError:
    """Return the refusal of rows of one group only.

    Examples
    --------
    >>> print(one_group("sensitive_features", "F", 812))
    sensitive_features has one group only ("F", 812 rows): there is nothing to compare.
    """
    rows = "" if n_rows is None else f", {counted(n_rows, 'row')}"
    only = f"has one group only ({shown(label)}{rows}): there is nothing to compare"
    return InputError(argument, only)


def as_given(value: Any) -> str:
    """Return a value as it stands in a sentence; a long one by its type."""
    if isinstance(value, str):
        return shown(value)
    text = repr(value)
    return text if len(text) <= 60 else f"a {type(value).__name__}"
