from rankfair.experiments.reproduce.cells import Cell, plan
from rankfair.experiments.reproduce.journal import Done
from rankfair.experiments.reproduce.methods import Choices
from rankfair.experiments.reproduce.settings import Settings
from rankfair.experiments.reproduce.stages import STAGES, chosen_before, unfinished

CELLS = plan(Settings(("wine",), repeats=1, figures=False), ["wine", "student"])


def tried(parameter, value, data="wine"):
    row = {"kind": "cv", "data": data, "method": parameter, "value": value, "rmse": 1.0}
    return Done(Cell("cv", data, parameter), [row], 0.1)


def finished(beta=1.0):
    """Return all cells as a run would leave them whose β is that."""
    found = {}
    for stage in STAGES:
        chosen = chosen_before(stage, ["wine", "student"], found)
        for cell in CELLS:
            if cell.stage == stage:
                done = Done(cell, [], 0.1)
                if cell.method == "beta" and cell.data == "wine":
                    done = tried("beta", beta)
                found[cell] = done._replace(chosen=chosen[cell.data])
    return found


def test_a_finished_run_leaves_nothing():
    assert unfinished(CELLS, finished()) == []
    assert unfinished(CELLS, {}) == CELLS


def test_what_was_run_with_other_parameters_is_run_again():
    done = finished()
    done[Cell("cv", "wine", "beta")] = tried("beta", 10.0)
    left = unfinished(CELLS, done)
    assert left == [it for it in CELLS if it.data == "wine" and it.stage > 0]


def test_a_stage_sees_only_what_was_chosen_before_it():
    done = {it.cell: it for it in (tried("beta", 10.0), tried("epsilon", 0.005))}
    found = [chosen_before(stage, ["wine"], done)["wine"] for stage in STAGES]
    assert found == [Choices(), Choices(beta=10.0), Choices(beta=10.0, epsilon=0.005)]
