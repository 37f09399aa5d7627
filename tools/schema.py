"""Write the JSON schema of an audit from its records: the package's copy and docs/."""

from __future__ import annotations

import json
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

from rankfair.audit import records
from rankfair.inference.estimate import Estimate

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
    "dict[str, str]": {"type": "object", "additionalProperties": {"type": "string"}},
}
RECORDS = (
    Estimate,
    records.Group,
    records.Attribute,
    records.Comparison,
    records.TaskLine,
    records.Histogram,
    records.ModelLine,
    records.FrontierPoint,
    records.Provenance,
)
HIDDEN = ("backend",)


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
        "version": {"const": 1},
        "verdict": {"type": "string"},
        "gap": NUMBER,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An audit by rankfair",
        **whole,
        "properties": {**head, **whole["properties"]},
        "required": [*head, *whole["required"]],
        "$defs": {record.__name__: of_record(record) for record in RECORDS},
    }


def main() -> int:
    """Write both files."""
    text = json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"
    for path in FILES:
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
