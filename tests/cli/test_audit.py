import numpy as np
import pytest

from rankfair.cli.audit import audit_files
from rankfair.cli.data import ModelSettings
from rankfair.cli.fit import fit_files
from rankfair.cli.predict import predict_rows
from rankfair.files.columns import Reading, Roles
from rankfair.files.read import read_table
from rankfair.input.errors import TableError
from rankfair.metrics import rank_auc
from sheets import at_auc, pay_csv, people, write_csv

PLAIN = Reading()
FIT = Roles(target="pay", sensitive=("gender",), tasks=("job",))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A pay roll and a model of it."""
    folder = tmp_path_factory.mktemp("made")
    csv, model = pay_csv(folder), folder / "m.rankfair"
    fit_files([csv], FIT, PLAIN, ModelSettings(), out=model, folds=0)
    return csv, str(model)


def test_the_audit_counts_what_the_metric_counts(tmp_path):
    data = people()
    found, _ = audit_files([write_csv(tmp_path / "a.csv", data)], FIT, PLAIN)
    auc = rank_auc(None, data["pay"], sensitive_features=data["gender"])
    assert found.comparisons[0].auc.value == pytest.approx(auc, abs=1e-12)
    assert found.model_names == ("pay",)


def test_each_comparison_is_told_of(tmp_path):
    data = people(groups="fmx")
    file = write_csv(tmp_path / "a.csv", {**data, "other": data["age"]})
    roles = Roles("pay", ("gender", "education"), ("job",), ("age", "other"))
    told = []
    found, _ = audit_files(
        [file], roles, PLAIN, intersect=True, on_step=lambda *step: told.append(step)
    )
    n = len(found.comparisons)
    names = [f"{c.group} v {c.against}" for c in found.comparisons]
    steps = [(name, i, n) for i, name in enumerate(names, start=1)]
    assert told == [("reading", 1, 2), *steps]


@pytest.mark.parametrize("wins", [0, 37, 50, 55, 100])
def test_pairs_are_counted_exactly(tmp_path, wins):
    file = write_csv(tmp_path / "a.csv", at_auc(wins))
    roles = Roles(predictions=("p",), sensitive=("g",))
    found, _ = audit_files([file], roles, PLAIN)
    assert found.comparisons[0].auc.value == wins / 100


def test_a_model_is_audited_as_its_predictions_are(made, tmp_path):
    csv, model = made
    by_model, _ = audit_files([csv], FIT, PLAIN, model=model)
    out = tmp_path / "p.csv"
    predict_rows(model, [csv], PLAIN, out=str(out))
    roles = Roles("pay", ("gender",), ("job",), ("prediction",))
    by_column, _ = audit_files([str(out)], roles, PLAIN)
    first, second = (each.to_dict() for each in (by_model, by_column))
    for each in (first, second):
        each.pop("provenance")
    assert first == second


def test_a_model_is_audited_by_columns_it_does_not_protect(made):
    csv, model = made
    roles = Roles("pay", ("education",), ("gender",))
    found, _ = audit_files([csv], roles, PLAIN, model=model)
    assert {c.sensitive_feature for c in found.comparisons} == {"education"}
    roles = Roles("pay", ("age",), cut=("age",))
    found, _ = audit_files([csv], roles, PLAIN, model=model, bins=2)
    assert len(found.comparisons) == 1


def test_numbers_that_the_model_reads_are_labels_too(made):
    csv, model = made
    found, table = audit_files([csv], Roles("pay", ("age",)), PLAIN, model=model)
    labels = {group.label for group in found.sensitive_features[0].groups}
    assert labels == {str(age) for age in people()["age"]}
    assert any("--bins 4" in note for note in table.notes)


def test_a_column_called_prediction_is_not_overwritten(made, tmp_path):
    _, model = made
    data = people(n=30)
    file = write_csv(tmp_path / "a.csv", {**data, "prediction": data["pay"]})
    with pytest.raises(TableError, match='already has a column "prediction"'):
        audit_files([file], FIT, PLAIN, model=model)


def test_missing_groups_are_counted(tmp_path):
    blank = [(0, "gender"), (7, "gender")]
    file = write_csv(tmp_path / "a.csv", people(), blank)
    found, _ = audit_files([file], FIT, PLAIN)
    assert found.sensitive_features[0].n_missing == 2
    comparison = found.comparisons[0]
    assert comparison.n_group + comparison.n_against == 148


@pytest.mark.parametrize("column", ["pay", "job", "weight"])
def test_other_gaps_are_refused_with_their_line(tmp_path, column):
    data = {**people(n=40), "weight": np.ones(40, int)}
    file = write_csv(tmp_path / "a.csv", data, [(4, column)])
    roles = Roles("pay", ("gender",), ("job",), weight="weight")
    with pytest.raises(TableError, match="--drop-missing") as error:
        audit_files([file], roles, PLAIN)
    assert (error.value.line, error.value.column) == (6, column)


def test_gaps_in_other_columns_are_of_no_account(tmp_path):
    file = write_csv(tmp_path / "a.csv", people(), [(0, "age"), (1, "education")])
    found, table = audit_files([file], FIT, Reading(drop_missing=True))
    assert found.provenance.n_rows == table.n_rows == 150


def test_several_columns_are_one_task(tmp_path):
    file = pay_csv(tmp_path)
    roles = Roles("pay", ("gender",), ("job", "education"))
    found, _ = audit_files([file], roles, PLAIN)
    table = read_table(file)
    pairs = set(zip(table["job"], table["education"], strict=True))
    assert found.provenance.n_tasks == len(pairs)
    assert {line.task for line in found.tasks} == {" · ".join(pair) for pair in pairs}


def test_nothing_to_audit_is_said(tmp_path):
    with pytest.raises(ValueError, match="--prediction, --model, or --target"):
        audit_files([pay_csv(tmp_path)], Roles(sensitive=("gender",)), PLAIN)
