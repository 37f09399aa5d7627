"""The records of an audit as dicts, frames, pictures and pages."""

import json
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
from jsonschema import Draft202012Validator

import audits
from audited import sample, simple
from rankfair import audit

ROOT = Path(__file__).parents[2]


def test_the_dict_follows_the_schema():
    schema = json.loads((ROOT / "docs" / "audit.schema.json").read_text("utf-8"))
    packaged = files("rankfair.audit").joinpath("audit.schema.json").read_text("utf-8")
    assert schema == json.loads(packaged)
    Draft202012Validator.check_schema(schema)
    full = audits.make_audit(**audits.AUDITS["hostile"])
    for found in (full, simple(), audits.make_audit()):
        text = json.dumps(found.to_dict(), allow_nan=False)
        Draft202012Validator(schema).validate(json.loads(text))
    assert full.to_dict()["provenance"]["command"] == " ".join(audits.HOSTILE)
    assert full.to_dict()["bands"] and full.to_dict()["parts"]


def test_frames_of_the_library_that_came():
    y, p, g, t = sample()
    for given, kind in ((pd.Series(g), pd.DataFrame), (pl.Series(g), pl.DataFrame)):
        found = audit(y, p, sensitive_features=given, tasks=t)
        frame = found.to_frame()
        assert isinstance(frame, kind)
        assert len(frame) == len(found.comparisons)
        assert frame["auc"].to_list() == [c.auc.value for c in found.comparisons]
        tasks = found.tasks_frame()
        assert isinstance(tasks, kind)
        assert tasks["task"].to_list() == [line.task for line in found.tasks]
    plain = audit(y, p, sensitive_features=g)
    assert isinstance(plain.to_frame(), pd.DataFrame)


def test_without_frame_libraries_there_is_a_dict(monkeypatch):
    _, p, g, _ = sample()
    monkeypatch.setattr("rankfair.audit.records.find_spec", lambda name: None)
    found = audit(None, p, sensitive_features=g, reference="F").to_frame()
    assert isinstance(found, dict) and found["group"] == ["M"]


def test_the_fingerprint_is_that_of_the_values():
    y, p, g, t = sample()
    one = audit(y, p, sensitive_features=g, tasks=t).provenance
    same = audit(list(y), p.copy(), sensitive_features=list(g), tasks=t).provenance
    other = audit(y + 1e-9, p, sensitive_features=g, tasks=t).provenance
    told = audit(None, {"target": y}, sensitive_features=g, tasks=t).provenance
    assert told.fingerprint == one.fingerprint  # the data, whatever the predictions
    assert one.fingerprint == same.fingerprint != other.fingerprint
    assert (one.n_rows, one.n_tasks, one.seed) == (240, 12, 0)
    assert audit(y, p, sensitive_features=g).provenance.n_tasks == 0
    renamed = audit(y, p, sensitive_features=g, tasks=t + 100).provenance
    assert renamed.fingerprint != one.fingerprint
    lone = np.where(g == "M", "\ud800", "\ud801")
    odd = audit(y, p, sensitive_features=lone, tasks=lone).provenance
    assert odd.fingerprint != one.fingerprint
    # Names do not run into each other.
    pairs = ({"ab": p, "c": y}, {"a": p, "bc": y})
    made = {audit(None, m, sensitive_features=g).provenance.fingerprint for m in pairs}
    assert len(made) == 2
    drawn = audit(y, p, sensitive_features=g, random_state=np.random.default_rng(0))
    assert drawn.provenance.seed is None
    assert {"rankfair", "numpy", "scipy", "python"} <= set(one.versions)
