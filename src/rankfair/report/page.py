"""What all pages share: one HTML file with style, script, policy, head and foot."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from rankfair.report.text import (
    STRIP,
    View,
    alike,
    cell,
    count,
    decimal,
    number_of,
    percent,
    shown,
)

if TYPE_CHECKING:
    from jinja2 import Environment

    from rankfair.audit.records import Provenance


def fill(template: str, values: View, *more: str) -> str:
    """Return a filled template of this folder, with style, script and policy.

    ``more`` are names of parts whose style and script follow those of all pages.
    """
    style, script = (
        "\n".join(_part(f"{name}.{kind}") for name in ("page", *more))
        for kind in ("css", "js")
    )
    return (
        environment()
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
def environment() -> Environment:
    """Return the templates of this folder, which escape whatever they print."""
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
    made.globals |= {"strip_size": STRIP, "alike": alike, "percent": percent}
    made.filters["amount"] = lambda value: alike([value])[0]
    made.filters["percent"] = lambda value, places=1: percent([value], places)[0]
    made.filters |= {"named": named, "cell": cell, "count": count, "decimal": decimal}
    return made


def _finalize(value: Any) -> Any:
    """Spell out control characters in whatever a template prints."""
    from markupsafe import Markup

    plain = isinstance(value, str) and not isinstance(value, Markup)
    return shown(value) if plain else value


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


def facts_of(made: Provenance, confidence: str, *missing: str) -> list[str]:
    """Return the facts below a title: rows, tasks if any, confidence, date."""
    facts = [number_of(made.n_rows), *missing]
    if made.n_tasks:
        facts.append(number_of(made.n_tasks, "task"))
    return [*facts, f"{confidence} confidence intervals", made.created[:10]]


def origin(made: Provenance, *more: tuple[str, str]) -> View:
    """Return where a page comes from, as names and values; empty ones are not shown."""
    return {
        "facts": [
            ("Rows", count(made.n_rows)),
            ("Tasks", count(made.n_tasks) if made.n_tasks else "none given"),
            ("Made", made.created),
            ("Seed", "" if made.seed is None else str(made.seed)),
            *more,
            ("Versions", ", ".join(f"{k} {v}" for k, v in made.versions.items())),
        ],
        "fingerprint": made.fingerprint,
        "command": made.command or "",
    }
