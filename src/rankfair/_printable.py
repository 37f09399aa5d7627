"""Text from a file, as it is shown on a terminal or a page: letters, no commands."""

from __future__ import annotations

import re

__all__ = ["clipped", "printable"]

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
