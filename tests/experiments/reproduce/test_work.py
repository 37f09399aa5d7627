import json

import numpy as np
import pytest

from rankfair.experiments.reproduce import work
from rankfair.experiments.reproduce.cells import Cell
from rankfair.experiments.reproduce.methods import METHODS, Choices
from rankfair.experiments.reproduce.work import COLUMNS, run_cell
from rankfair.solvers import Paper

RANK = Cell("table", "synthetic 0.9", "Rank")


def test_records_are_tidy_and_whole(records, tiny):
    assert {row["kind"] for row in records} == {"cv", "table", "path", "steps"}
    for row in records:
        assert "error" not in row
        assert list(row) == [name for name in COLUMNS if name in row]
        assert json.loads(json.dumps(row)) == row
    table = [row for row in records if row["kind"] == "table"]
    assert len(table) == 2 * 2 * len(METHODS)
    for row in table:
        assert row["gap"] == abs(row["auc"] - 0.5)
        assert row["n"] == 6 * 25 > row["n_a"] > 0


def test_a_cell_is_the_same_again(tiny):
    for method in ("Rank", "Rank (paper)", "SDBC (ADM)"):
        one, two = (
            run_cell(Cell("table", "synthetic 0.9", method), tiny, Choices())
            for _ in range(2)
        )
        assert one == two


def test_random_methods_differ_between_repeats_of_the_same_data(tiny, monkeypatch):
    whole = work.make_case
    monkeypatch.setattr(work, "make_case", lambda name, repeat, it: whole(name, 0, it))
    chosen = Choices(beta_paper=0.1)
    for method, same in (("Rank (paper)", False), ("Rank", True)):
        one, two = (
            run_cell(Cell("table", "synthetic 0.9", method, repeat), tiny, chosen)
            for repeat in (0, 1)
        )
        assert (one[0]["rmse"] == two[0]["rmse"]) == same


def test_held_out_rows_are_predicted_by_a_fit_that_did_not_see_them(
    tiny, monkeypatch, real_data
):
    seen = []

    def method(train, chosen, seed):
        seen.append(len(train.y))
        return lambda rows: rows.y

    monkeypatch.setitem(METHODS, "Rank", method)
    run_cell(Cell("table", "student", "Rank"), tiny, Choices())
    assert seen[0] == 1044
    assert seen[1] == pytest.approx(0.7 * 1044, abs=36)


def test_a_failure_is_a_record_and_nothing_is_raised(tiny, monkeypatch):
    def broken(train, chosen, seed):
        raise ZeroDivisionError("no luck")

    monkeypatch.setitem(METHODS, "Rank", broken)
    (row,) = run_cell(RANK, tiny, Choices())
    assert row["error"] == "ZeroDivisionError: no luck"
    assert row["method"] == "Rank"


def test_warnings_are_noted_once(tiny, monkeypatch):
    import warnings

    def worried(train, chosen, seed):
        for _ in range(2):
            warnings.warn("careful", stacklevel=1)
        return lambda rows: rows.y

    monkeypatch.setitem(METHODS, "Rank", worried)
    assert [row["note"] for row in run_cell(RANK, tiny, Choices())] == ["careful"] * 2


def test_predictions_that_differ_by_rounding_rank_nobody(tiny, monkeypatch):
    def flat(train, chosen, seed):
        return lambda rows: 0.1 + 1e-15 * rows.y

    monkeypatch.setitem(METHODS, "Rank", flat)
    for row in run_cell(RANK, tiny, Choices()):
        assert (row["auc"], row["ks"]) == (0.5, 0.0)
        assert row["md"] == pytest.approx(0)


def test_what_is_not_known_is_left_out():
    found = work._clean({"auc": np.float64(0.5), "auc_se": np.nan, "note": ""})
    assert found == {"auc": 0.5}
    assert type(found["auc"]) is float


def test_the_path_asks_for_its_own_epsilon(records):
    path = [row for row in records if row["kind"] == "path" and row["rows"] == "train"]
    assert {row["epsilon"] for row in path} == {0.0, 0.2}
    for row in path:
        assert row["gap"] <= row["epsilon"] + 1e-4


def test_every_step_of_the_papers_solver_is_there(records):
    steps = [row for row in records if row["kind"] == "steps"]
    assert [row["step"] for row in steps] == [*range(1, Paper().max_iter + 1)]
    # The projected copy is level, the model is not: what the figure is to show.
    assert abs(steps[-1]["projected_auc"] - 0.5) <= 0.005 + 1e-3
    assert abs(steps[-1]["auc"] - 0.5) > 0.1
