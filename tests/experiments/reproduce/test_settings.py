import json

import pytest

from rankfair.experiments.reproduce.settings import (
    DATASETS,
    REAL,
    SYNTHETIC,
    Settings,
    chosen_data,
    command,
    make,
)


def test_tables_and_names_choose_data_in_the_order_of_the_paper():
    assert chosen_data() == DATASETS == (*SYNTHETIC, *REAL)
    assert chosen_data((2,)) == SYNTHETIC
    assert chosen_data((2, 3), ("student", "crime")) == ("crime", "student")
    assert chosen_data((2, 3), ("synthetic",)) == SYNTHETIC
    assert chosen_data((2, 3), ("Wine", "SYNTHETIC 0.9")) == ("synthetic 0.9", "wine")


@pytest.mark.parametrize(
    ("tables", "names", "said"),
    [
        ((4,), (), "2 and 3, got 4"),
        ((3,), ("synthetic",), "synthetic is in table 2"),
        ((2, 3), ("wien",), r"'wien' \(did you mean 'wine'\?\)"),
        ((2, 3), ("synthetic 0.95",), "did you mean 'synthetic 0.9'"),
        ((2, 3), ("xyz",), "called 'xyz'; there is: synthetic"),
    ],
)
def test_what_is_not_there_is_said(tables, names, said):
    with pytest.raises(ValueError, match=said):
        chosen_data(tables, names)


def test_a_quick_run_is_smaller_in_every_way_and_keeps_what_was_asked():
    whole, quick = make(DATASETS, 3), make(DATASETS, 3, quick=True)
    assert whole == Settings(seed=3) and quick.seed == 3
    assert quick.repeats < whole.repeats and quick.folds < whole.folds
    assert set(quick.grid) < set(whole.grid) and set(quick.path) < set(whole.path)
    assert set(quick.epsilons) < set(whole.epsilons) and quick.keep > whole.keep
    assert make(DATASETS, quick=True, repeats=7, figures=False).repeats == 7
    assert not make(DATASETS, figures=False).figures


def test_settings_go_to_a_file_and_back():
    said = Settings().as_dict()
    assert json.loads(json.dumps(said)) == said


@pytest.mark.parametrize(
    ("asked", "options"),
    [
        (make(DATASETS, 3), ""),
        (make(DATASETS, figures=False), " --no-figures"),
        (make(REAL, figures=False), " --tables 3"),
        (make(SYNTHETIC), " --tables 2 --figures"),
        (make(("crime", "wine"), quick=True), " --data crime,wine --quick"),
    ],
)
def test_the_command_asks_for_the_settings(asked, options):
    tail = f"--seed {asked.seed} --repeats {asked.repeats}"
    assert command(asked) == f"rankfair reproduce{options} {tail}"
