"""Write JSON schemas from the records: of an audit, and of what commands print."""

from __future__ import annotations

import json
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

from rankfair.audit import records
from rankfair.audit.records import Gate
from rankfair.paths import PathRow
from rankfair.report.methods_page import MethodLine
from rankfair.stats.estimate import Estimate

ROOT = Path(__file__).parents[1]
FILES = (
    ROOT / "src" / "rankfair" / "audit" / "audit.schema.json",
    ROOT / "docs" / "audit.schema.json",
)
NUMBER = {"type": ["number", "null"]}
PLAIN: dict[str, Any] = {
    "str": {"type": "string"},
    "str | None": {"type": ["string", "null"]},
    "int": {"type": "integer"},
    "int | None": {"type": ["integer", "null"]},
    "float": NUMBER,
    "float | None": NUMBER,
    "bool": {"type": "boolean"},
    "dict[str, float]": {"type": "object", "additionalProperties": NUMBER},
    "tuple[str, ...]": {"type": "array", "items": {"type": "string"}},
    "dict[str, Estimate]": {
        "type": "object",
        "additionalProperties": {"$ref": "#/$defs/Estimate"},
    },
    "dict[str, str]": {"type": "object", "additionalProperties": {"type": "string"}},
}
RECORDS = (
    Estimate,
    records.Group,
    records.SensitiveFeature,
    records.Comparison,
    records.TaskLine,
    records.UnitsGap,
    records.GapParts,
    records.TaskRaises,
    records.RemedyCost,
    records.QuartileBand,
    records.PayBands,
    records.Histogram,
    records.ModelLine,
    records.Provenance,
)
HIDDEN = ("backend", "rows", "raises")
GATE: dict[str, Any] = {
    "description": "What --max-gap and --max-task-gap came to, if asked for.",
    "type": "object",
    "properties": {
        "max_gap": NUMBER,
        "max_task_gap": NUMBER,
        "result": {"enum": [each.name.lower() for each in Gate]},
    },
    "required": ["max_gap", "max_task_gap", "result"],
    "additionalProperties": False,
}


def of_type(name: str) -> dict[str, Any]:
    """Return the schema of an annotation, as it stands in the code."""
    if name in PLAIN:
        return dict(PLAIN[name])
    if name.startswith("tuple["):
        inner = name.removeprefix("tuple[").removesuffix(", ...]")
        return {"type": "array", "items": of_type(inner)}
    return {"$ref": f"#/$defs/{name}"}


def of_record(record: type) -> dict[str, Any]:
    """Return the schema of a record: all fields, and no others."""
    found = {f.name: of_type(str(f.type)) for f in fields(record)}
    properties = {name: s for name, s in found.items() if name not in HIDDEN}
    return {
        "description": " ".join((record.__doc__ or "").split("\n\n")[0].split()),
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def schema() -> dict[str, Any]:
    """Return the schema of ``Audit.to_dict()``."""
    whole = of_record(records.Audit)
    head = {
        "format": {"const": "rankfair-audit"},
        "version": {"const": 3},
        "verdict": {"type": "string"},
        "gap": NUMBER,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An audit by rankfair",
        **whole,
        "properties": {**head, **whole["properties"], "gate": GATE},
        "required": [*head, *whole["required"]],
        "$defs": {record.__name__: of_record(record) for record in RECORDS},
    }


def _printed(command: str, title: str, properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object that a command prints with --json."""
    head = {"format": {"const": f"rankfair-{command}"}, "version": {"const": 2}}
    found = {**head, **properties, "notes": of_type("tuple[str, ...]")}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "type": "object",
        "properties": found,
        "required": list(found),
        "additionalProperties": False,
    }


def fit_schema() -> dict[str, Any]:
    """Return the schema of `rankfair fit --json`: an audit inside, if there is one."""
    audit = schema()
    definitions = audit.pop("$defs")
    del audit["$schema"], audit["properties"]["gate"]
    text, numbers = {"type": "string"}, PLAIN["dict[str, float]"]
    found = _printed(
        "fit",
        "A fit by rankfair",
        {
            "model": PLAIN["str | None"],
            "status": text,
            "constraint_status": text,
            "verdict": text,
            "rank_auc": NUMBER,
            "proxy_auc": NUMBER,
            "constraints": numbers,
            "beta": {"type": ["number", "array"], "items": {"type": "number"}},
            "unbalanced_tasks": PLAIN["dict[str, str]"],
            "held_out": {"type": "boolean"},
            "audit": {"anyOf": [audit, {"type": "null"}]},
        },
    )
    found["properties"]["gate"] = GATE
    return {**found, "$defs": definitions}


def path_schema() -> dict[str, Any]:
    """Return the schema of `rankfair path --json`."""
    kinds = {name: str(kind) for name, kind in PathRow.__annotations__.items()}
    row = {name: of_type(_plain_name(kind)) for name, kind in kinds.items()}
    rows = {
        "type": "array",
        "minItems": 1,
        "items": {
            "type": "object",
            "properties": row,
            "required": list(row),
            "additionalProperties": False,
        },
    }
    return _printed(
        "path",
        "What each epsilon costs, by rankfair",
        {
            "fingerprint": {"type": "string"},
            "chosen": NUMBER,
            "summary": {"type": "string"},
            "n_held_out": {"type": "integer"},
            "rows": rows,
        },
    )


def compare_schema() -> dict[str, Any]:
    """Return the schema of `rankfair compare --json`."""
    found = _printed(
        "compare",
        "Methods compared by rankfair",
        {
            "fingerprint": {"type": "string"},
            "summary": {"type": "string"},
            "methods": of_type("tuple[MethodLine, ...]"),
            "not_run": PLAIN["dict[str, str]"],
        },
    )
    parts = {each.__name__: of_record(each) for each in (MethodLine, Estimate)}
    return {**found, "$defs": parts}


def _plain_name(kind: str) -> str:
    """Return an annotation as it was written: ForwardRef('float') is float."""
    return kind.removeprefix("ForwardRef('").partition("'")[0]


def files() -> dict[Path, dict[str, Any]]:
    """Return every file and what belongs into it."""
    docs = ROOT / "docs"
    return {
        **dict.fromkeys(FILES, schema()),
        docs / "fit.schema.json": fit_schema(),
        docs / "path.schema.json": path_schema(),
        docs / "compare.schema.json": compare_schema(),
    }


def main() -> int:
    """Write all files."""
    for path, found in files().items():
        text = json.dumps(found, indent=2, ensure_ascii=False) + "\n"
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
