"""One file: template, style and script put together under a policy of their own."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from rankfair.report.cells import STRIP, View
from rankfair.report.text import shown
from rankfair.report.view import view

if TYPE_CHECKING:
    from jinja2 import Environment

    from rankfair.audit.records import Audit

__all__ = ["fill", "named", "policy", "render", "render_fragment"]

NOTEBOOK_BYTES = 60_000


def render(audit: Audit) -> str:
    """Return an audit as one page that needs no other file and no network.

    Every name in it is text: the template escapes, control characters are spelt out,
    and the page's own policy lets only its own style and script work.

    Parameters
    ----------
    audit : Audit
        What was measured.

    Returns
    -------
    str
        A whole HTML document.
    """
    return fill("audit.html.j2", view(audit))


def render_fragment(audit: Audit) -> str:
    """Return an audit for a notebook: verdict, a small table, and the page to unfold.

    The table has no style and no script, so that it also survives where notebooks are
    cleaned; the page stands in a frame of its own that can reach nothing else.

    Parameters
    ----------
    audit : Audit
        What was measured.

    Returns
    -------
    str
        A part of an HTML document.
    """
    shortened = view(audit, most_bytes=NOTEBOOK_BYTES)
    page = fill("audit.html.j2", shortened)
    return _environment().get_template("fragment.html.j2").render(shortened, page=page)


def fill(template: str, values: View) -> str:
    """Return a template of this folder with style, script and policy in their places.

    Parameters
    ----------
    template : str
        Its file name.
    values : dict
        What it reads.

    Returns
    -------
    str
        A whole HTML document.
    """
    style, script = _part("page.css"), _part("page.js")
    return (
        _environment()
        .get_template(template)
        .render(values, style=style, script=script, policy=policy(style, script))
        + "\n"
    )


def policy(style: str, script: str) -> str:
    """Return the content policy: this style, this script, and nothing from anywhere.

    Examples
    --------
    >>> policy("", "").count("sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
    2
    """
    return (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def _part(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8").strip()


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("rankfair.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    made.globals["strip_size"] = STRIP
    made.filters["named"] = named
    return made


def _finalize(value: Any) -> Any:
    """Spell out control characters in whatever a template prints."""
    from markupsafe import Markup

    return (
        value
        if isinstance(value, Markup) or not isinstance(value, str)
        else shown(value)
    )


def named(text: str, group: str, against: str) -> Any:
    """Return a text with the names of two groups in it, each kept apart as a name.

    Examples
    --------
    >>> print(named("of {group}", "<b>", "M"))
    of <bdi>&lt;b&gt;</bdi>
    """
    from markupsafe import Markup, escape

    names = {"{group}": group, "{against}": against}
    # Split first: a group that is called "{against}" is a name like any other.
    parts = re.split(r"(\{group\}|\{against\})", text)
    return Markup("").join(
        Markup("<bdi>{}</bdi>").format(shown(names[part]))
        if part in names
        else escape(part)
        for part in parts
    )
