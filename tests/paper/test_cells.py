from paper.cells import COLUMNS, Cell, plan
from paper.methods import METHODS, RANDOM
from paper.settings import DATASETS, Settings
from rankfair.solvers import Paper

RANK = Cell("table", "synthetic 0.9", "Rank")


def test_the_plan_has_every_dataset_and_method():
    found = plan(Settings(), DATASETS)
    assert len(found) == len(set(found))
    for data in DATASETS:
        for method in METHODS:
            repeats = [it.repeat for it in found if it[:3] == ("table", data, method)]
            again = data not in ("crime", "income") or method in RANDOM
            assert repeats == list(range(20 if again else 1))
    kinds = {cell.kind for cell in plan(Settings(figures=False), DATASETS)}
    assert kinds == {"cv", "table"}


def test_records_are_tidy_and_whole(records):
    assert {row["kind"] for row in records} == {"cv", "table", "path", "steps"}
    for row in records:
        assert "error" not in row and set(row) <= set(COLUMNS)
        assert all(type(value) in (str, int, float, bool) for value in row.values())
    table = [row for row in records if row["kind"] == "table"]
    assert len(table) == 2 * 2 * len(METHODS)
    for row in table:
        assert row["gap"] == abs(row["auc"] - 0.5)
        assert row["n"] == 6 * 25 > row["n_a"] > 0


def test_every_step_of_the_papers_solver_is_there(records):
    steps = [row for row in records if row["kind"] == "steps"]
    assert [row["step"] for row in steps] == [*range(1, Paper().max_iter + 1)]
    # The projected copy is level, the model is not: what the figure is to show.
    assert abs(steps[-1]["projected_auc"] - 0.5) <= 0.005 + 1e-3
    assert abs(steps[-1]["auc"] - 0.5) > 0.1
