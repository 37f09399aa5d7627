"""What errors say: values shown, lists shortened, control characters spelt out."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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

    def lines(self, spell: Callable[[Argument], str] = str) -> list[str]:
        """Return what is to be said, a line each."""
        return [self.render(spell)]

    def render(self, spell: Callable[[Argument], str] = str) -> str:
        """Return the sentence, with its place in the file in front."""
        place = [printable(str(self.argument))] if self.argument else []
        place += [f"line {self.line}"] if self.line is not None else []
        place += [f"column {quoted(self.column)}"] if self.column is not None else []
        link = ": " if self.line is not None or self.column is not None else " "
        head = ", ".join(place) + link if place else ""
        end = "" if str(self.cure).endswith((".", "?")) else "."
        return f"{head}{self.expected}.{f' {self.cure}{end}' if self.cure else ''}"


class TableError(FileError):
    """A table that cannot be read or written without a guess."""

    @property
    def parts(self) -> Sequence[TableError]:
        """All problems, one by one."""
        return [self]


class TableProblemsError(TableError):
    """Several things that are wrong with one table, a line each.

    Examples
    --------
    >>> found = [TableError("x is odd", line=4), TableError("is cut", line=2)]
    >>> print(TableProblemsError(found))
    The table has 2 problems:
    - line 2: is cut.
    - line 4: x is odd.
    """

    def __init__(
        self, problems: Sequence[TableError], source: str = "", most: int = 10
    ):
        found = sorted(problems, key=lambda each: each.line or 0)
        super().__init__(f"has {len(found)} problems", source=source)
        self._problems, self.most = found, most
        self.args = problems, source, most

    @property
    def parts(self) -> Sequence[TableError]:
        """All problems, one by one."""
        return self._problems

    def lines(self, spell: Callable[[Argument], str] = str) -> list[str]:
        """Return the first problems, and how many more there are."""
        more = len(self._problems) - self.most
        head = f"{printable(str(self.argument)) or 'The table'} {self.expected}"
        said = [head + (f"; the first {self.most}:" if more > 0 else ":")]
        for each in self._problems[: self.most]:
            each.argument = ""  # the file is named above
            said.append(f"- {each.render(spell)}")
        return [*said, f"- and {more} more."] if more > 0 else said

    def render(self, spell: Callable[[Argument], str] = str) -> str:
        """Return all lines as one text."""
        return "\n".join(self.lines(spell))


def refuse(problems: Sequence[TableError], source: str = "") -> None:
    """Raise what is wrong with a table, all of it at once; nothing if all is well."""
    if len(problems) > 1:
        raise TableProblemsError(problems, source)
    for only in problems:
        raise only


class ModelFileError(FileError):
    """A file that is no whole model file, or a model that cannot become one."""
