"""What all pages share: one HTML file with style, script, policy, head and foot."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from rankfair.report import text
from rankfair.report.text import View, alike, count, number_of, percent, shown

if TYPE_CHECKING:
    from jinja2 import Environment

    from rankfair.audit.records import Provenance


def fill(template: str, values: View, *more: str) -> str:
    """Return a filled template of this folder, with style, script and policy.

    ``more`` are names of parts whose style and script follow those of all pages.
    """
    style = "\n".join(_part(f"{name}.css") for name in ("page", *more))
    script = "\n".join(_part(f"{name}.js") for name in ("page", *more))
    parts = {"style": style, "script": script, "policy": policy(style, script)}
    return environment().get_template(template).render(values, **parts) + "\n"


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
    made.globals |= {"strip_size": text.STRIP, "alike": alike, "percent": percent}
    made.filters["amount"] = lambda value: alike([value])[0]
    made.filters["percent"] = lambda value, places=1: percent([value], places)[0]
    made.filters |= {"named": named, "cell": text.cell}
    made.filters |= {"count": count, "decimal": text.decimal}
    return made


def _finalize(value: Any) -> Any:
    """Spell out control characters in whatever a template prints."""
    from markupsafe import Markup

    plain = isinstance(value, str) and not isinstance(value, Markup)
    return shown(value) if plain else value


def named(sentence: str, group: str, against: str) -> Any:
    """Fill the names of two groups into a text, each marked up as a name.

    Examples
    --------
    >>> print(named("of {group}", "<b>", "M"))
    of <bdi>&lt;b&gt;</bdi>
    """
    from markupsafe import Markup, escape

    name = Markup("<bdi>{}</bdi>")
    names = {"group": group, "against": against}
    marked = {place: name.format(shown(label)) for place, label in names.items()}
    return escape(sentence).format(**marked)


def about(
    made: Provenance,
    confidence: float = 0.95,
    missing: Sequence[str] = (),
    facts: Sequence[tuple[str, str]] = (),
) -> View:
    """Return what head and foot of a page say of its rows.

    Those without a group are ``missing`` below the title; ``facts`` are names and
    values at the end, where empty ones are not shown.
    """
    level, n_tasks = f"{100 * confidence:g} %", made.n_tasks
    rows = [number_of(made.n_rows), *missing]
    rows += [number_of(n_tasks, "task")] if n_tasks else []
    return {
        "confidence": level,
        "facts": [*rows, f"{level} confidence intervals", made.created[:10]],
        "of_reading": made.notes,
        "provenance": {
            "facts": [
                ("Rows", count(made.n_rows)),
                ("Tasks", count(n_tasks) if n_tasks else "none given"),
                ("Made", made.created),
                ("Seed", "" if made.seed is None else str(made.seed)),
                *facts,
                ("Versions", ", ".join(f"{k} {v}" for k, v in made.versions.items())),
            ],
            "fingerprint": made.fingerprint,
            "command": made.command or "",
        },
    }
