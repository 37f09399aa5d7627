import json
import math

import pytest

import audits
from rankfair.report.tasks import GRAIN, pack

KEYS = {"models", "notes", "low", "high", "ticks", "sets"}
SET_KEYS = {"feature", "group", "against", "task", "a", "b", "by"}
MODEL_KEYS = {"auc", "low", "high", "p", "flag", "note"}


def test_the_data_are_as_the_script_reads_them():
    payload = pack(audits.make_audit(n_tasks=30))
    data = json.loads(payload.text)
    assert set(data) == KEYS
    for one in data["sets"]:
        assert set(one) == SET_KEYS
        assert len(one["by"]) == len(data["models"])
        for by in one["by"]:
            assert set(by) == MODEL_KEYS
            assert {len(by[key]) for key in MODEL_KEYS} == {len(one["task"])}
            assert all(0 <= note < len(data["notes"]) for note in by["note"])


def test_every_line_comes_back():
    audit = audits.make_audit(n_tasks=30)
    data = json.loads(pack(audit).text)
    (one,) = data["sets"]
    for line in audit.tasks:
        i = one["task"].index(line.task)
        by = one["by"][data["models"].index(line.model)]
        for key, value in (("auc", line.auc.value), ("low", line.auc.ci_low)):
            if math.isnan(value):
                assert by[key][i] is None
            else:
                assert by[key][i] / GRAIN == pytest.approx(value, abs=1 / GRAIN)
        assert by["flag"][i] == str(int(line.flagged))
        if line.adjusted_p is None:
            assert by["p"][i] is None
        else:
            assert by["p"][i] == pytest.approx(line.adjusted_p, rel=0.01)
        assert data["notes"][by["note"][i]] == line.auc.note
        assert (one["a"][i], one["b"][i]) == (line.n_group, line.n_against)


def test_too_many_lines_are_cut_flags_and_large_gaps_stay():
    audit = audits.make_audit(n_tasks=2000, models=("m",))
    payload = pack(audit, 20_000)
    assert len(payload.text.encode()) <= 20_000
    assert 100 < payload.n_shown < payload.n_all == 2000
    kept = set(payload.data["sets"][0]["task"])
    gaps = {True: [], False: []}
    for line in audit.tasks:
        gap = abs(line.auc.value - 0.5)
        gaps[line.task in kept].append((line.flagged, -1 if math.isnan(gap) else gap))
    assert min(gaps[True]) >= max(gaps[False])


def test_one_line_a_comparison_stays_whatever_it_takes():
    audit = audits.make_audit(n_tasks=5, label="x" * 500 + "{}")
    assert pack(audit, 100).n_shown == 1


def test_without_tasks_there_is_nothing():
    assert pack(audits.make_audit(n_tasks=0)) is None
