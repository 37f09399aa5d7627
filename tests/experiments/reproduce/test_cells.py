from rankfair.experiments.reproduce.cells import plan
from rankfair.experiments.reproduce.methods import METHODS, RANDOM
from rankfair.experiments.reproduce.settings import DATASETS, Settings


def test_the_plan_has_every_dataset_and_method():
    found = plan(Settings(), DATASETS)
    assert len(found) == len(set(found))
    table = [cell for cell in found if cell.kind == "table"]
    for data in DATASETS:
        for method in METHODS:
            repeats = [it.repeat for it in table if it[1:3] == (data, method)]
            again = data not in ("crime", "income") or method in RANDOM
            assert repeats == list(range(20 if again else 1))


def test_without_figures_there_is_neither_path_nor_steps():
    kinds = {cell.kind for cell in plan(Settings(figures=False), DATASETS)}
    assert kinds == {"cv", "table"}


def test_a_stage_needs_only_earlier_ones():
    stages = {cell.method: cell.stage for cell in plan(Settings(), ["wine"])}
    assert stages["beta"] == stages["beta_shared"] == stages["beta_paper"] == 0
    assert stages["epsilon"] == stages["trade_off"] == 1
    assert stages["Rank"] == 2
