"""Fill templates into one HTML file with its style, script and content policy."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from rankfair.report.text import STRIP, View, shown
from rankfair.report.view import view

if TYPE_CHECKING:
    from jinja2 import Environment

    from rankfair.audit.records import Audit

__all__ = ["fill", "named", "policy", "render", "render_fragment"]


def render(audit: Audit, most_bytes: int = 1_000_000) -> str:
    """Return an audit as one HTML page that needs no other file and no network.

    Names are escaped, control characters are spelt out, and the content policy of the
    page allows only its own style and script.

    Parameters
    ----------
    audit : Audit
        The records.
    most_bytes : int, default=1_000_000
        If the page is larger, lines of tasks are left out.

    Returns
    -------
    str
        A whole HTML document.

    Examples
    --------
    >>> from rankfair import audit
    >>> found = audit(None, [3.0, 1.0, 2.0], sensitive_features=["M", "F", "<b>"])
    >>> page = render(found)
    >>> page.count("Content-Security-Policy"), "<b>" in page, "&lt;b&gt;" in page
    (1, False, True)
    """
    values = view(audit)
    page = fill("audit.html.j2", values)
    excess = len(page.encode()) - most_bytes
    if excess <= 0 or values["tasks"] is None:
        return page
    left = len(values["tasks"]["json"].encode()) - excess
    return fill("audit.html.j2", view(audit, most_bytes=left))


def render_fragment(audit: Audit) -> str:
    """Return an audit for a notebook: verdict, a small table, and the page folded.

    The table has no style and no script.  The page is in a frame that can reach nothing
    else.

    Parameters
    ----------
    audit : Audit
        The records.

    Returns
    -------
    str
        A part of an HTML document.

    Examples
    --------
    >>> from rankfair import audit
    >>> found = audit(None, [3.0, 1.0], sensitive_features=["M", "F"], title="Pay")
    >>> "<strong" in render_fragment(found)
    True
    """
    shortened = view(audit, most_bytes=60_000)
    page = fill("audit.html.j2", shortened)
    return _environment().get_template("fragment.html.j2").render(shortened, page=page)


def fill(template: str, values: View) -> str:
    """Return a filled template of this folder, with style, script and policy."""
    style, script = _part("page.css"), _part("page.js")
    return (
        _environment()
        .get_template(template)
        .render(values, style=style, script=script, policy=policy(style, script))
        + "\n"
    )


def policy(style: str, script: str) -> str:
    """Return a content policy that allows this style and this script only.

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
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise ImportError(
            'The page needs an extra, jinja2: pip install "rankfair[cli]"'
        ) from error
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
    """Fill the names of two groups into a text, each marked up as a name.

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
