"""What `rankfair describe` prints of a model file."""

from __future__ import annotations

from typing import Any

from rankfair.cli.errors import echo, echo_json
from rankfair.cli.screen import show_table

MOST_LABELS = 8


def show_model(found: dict[str, Any], as_json: bool = False) -> None:
    """Print what a model file says of itself, for people or programs."""
    if as_json:
        echo_json(found)
        return
    size = f"{found['bytes']:,} bytes"
    echo(f"{found['estimator']} by rankfair {found['rankfair']}, {size}")
    for line in found["notes"].splitlines():
        echo(line)
    _block("Reached on the rows fitted", found["achieved"] or {})
    _block("Settings", found["params"] or {})
    for name in ("tasks", "groups"):
        if found[name] and not (name == "tasks" and _is_single(found)):
            echo()
            _count(name, found[name])
    echo()
    rows = [(c["name"], c["role"], c["type"]) for c in found["columns"]]
    show_table(("column", "role", "type"), rows)
    extra = found["extra"]
    if isinstance(extra, dict) and isinstance(extra.get("target"), str):
        echo()
        echo(f"Predicts {extra['target']}.")


def _is_single(found: dict[str, Any]) -> bool:
    """Whether there is one task because none were named."""
    named = (found["params"] or {}).get("tasks") is not None
    return list(found["tasks"]) == [0] and not named


def _block(title: str, pairs: dict[str, Any]) -> None:
    if not pairs:
        return
    echo()
    echo(title)
    width = max(map(len, pairs))
    for name in sorted(pairs):
        label = name.rstrip("_").ljust(width)
        echo(f"  {label}  {_shown(pairs[name])}")


def _count(name: str, labels: Any) -> None:
    if isinstance(labels, dict):
        for key, own in labels.items():
            _count(f"{name} of {key}", own)
        return
    shown = ", ".join(_shown(label) for label in list(labels)[:MOST_LABELS])
    more = f" and {len(labels) - MOST_LABELS} more" if len(labels) > MOST_LABELS else ""
    named = "task" if len(labels) == 1 and name == "tasks" else name
    echo(f"{len(labels)} {named}: {shown}{more}")


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_shown, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else str(value)
