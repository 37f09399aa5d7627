import numpy as np
import pytest

from rankfair import (
    RankFairRegressor,
    load_model,
    save_model,
)
from rankfair.cli.data import ModelSettings, read_data
from rankfair.cli.errors import NotEstimableError
from rankfair.cli.fit import fit_files
from rankfair.cli.predict import predict_rows
from rankfair.files.archive import ModelFileError
from rankfair.files.columns import Reading, Roles
from rankfair.files.encoding import ModelColumns
from rankfair.files.model_files import read_extra
from rankfair.files.read import read_table
from rankfair.input.errors import TableError
from rankfair.metrics import rank_auc
from sheets import pay_csv, people, write_csv

PLAIN = Reading()
ROLES = Roles(target="pay", sensitive=("gender",), tasks=("job",))


def fitted(csv, tmp_path, settings=None, roles=ROLES, **more):
    out = tmp_path / "m.rankfair"
    more = {"folds": 0, **more}
    return fit_files([csv], roles, PLAIN, settings or ModelSettings(), out=out, **more)


def predictions(model, csv, tmp_path):
    out = tmp_path / "p.csv"
    predict_rows(str(model), [csv], PLAIN, out=str(out))
    return read_table(str(out), text=["job", "gender"])


def test_the_file_predicts_what_the_model_does_and_is_in_its_band(tmp_path):
    csv = pay_csv(tmp_path)
    done = fitted(csv, tmp_path)
    data = read_data([csv], ROLES, PLAIN)
    table = predictions(done.path, csv, tmp_path)
    assert (table["prediction"] == done.model.predict(data.X)).all()
    groups = {"sensitive_features": table["gender"]}
    auc = rank_auc(None, table["prediction"], **groups)
    assert auc == pytest.approx(done.model.rank_auc_, abs=1e-12)
    left_out = rank_auc(None, done.model.loo_predictions_, **groups)
    assert left_out == pytest.approx(done.model.loo_auc_, abs=1e-12)
    assert abs(left_out - 0.5) <= 0.01 + 1 / np.prod(
        np.unique(table["gender"], return_counts=True)[1]
    )


def test_the_report_is_of_rows_held_out(tmp_path):
    done = fitted(pay_csv(tmp_path), tmp_path, folds=3)
    assert done.measured == "left out"
    assert done.audit.model_names == ("before", "after")
    before, after = done.audit.comparisons
    assert after.gap < before.gap
    assert done.audit.provenance.n_rows == done.n_rows == 150
    trained = fitted(pay_csv(tmp_path), tmp_path)
    assert trained.measured == "fitted"
    errors = [each.audit.models[1].rmse.value for each in (trained, done)]
    assert errors[0] < errors[1]


def test_steps_are_told(tmp_path):
    told = []
    fitted(pay_csv(tmp_path), tmp_path, on_step=lambda *step: told.append(step))
    assert [step for _, step, _ in told] == sorted(step for _, step, _ in told)
    assert told[0][0] == "reading"


def test_beta_is_chosen_if_asked(tmp_path):
    # Pay that nothing predicts: the more it is penalised the better.
    noise = np.random.default_rng(0).normal(size=150).round(3)
    csv = write_csv(tmp_path / "noise.csv", people() | {"pay": noise})
    done = fitted(csv, tmp_path, ModelSettings(0.4, beta=None))
    data = read_data([csv], ROLES, PLAIN)
    own = RankFairRegressor(0.4, tasks="job", sensitive_features="gender")
    assert done.model.beta_ == own.fit(data.X, data.y).beta_
    assert fitted(csv, tmp_path, ModelSettings(0.4, beta=2.0)).model.beta == 2.0


def test_two_constraints_are_both_held(tmp_path):
    done = fitted(
        pay_csv(tmp_path), tmp_path, ModelSettings(constraints=("rank", "mean"))
    )
    assert done.model.status_ == "satisfied"
    assert abs(done.model.constraint_values_["mean"]) <= 0.01 + 1e-9


def test_numbers_are_cut_and_new_rows_read_alike(tmp_path):
    csv = pay_csv(tmp_path)
    roles = Roles("pay", ("age", "gender"), cut=("age", "gender"))
    done = fitted(csv, tmp_path, ModelSettings(0.2, bins=2, blind=False), roles)
    design, _ = ModelColumns.of_file(str(done.path))
    assert design.roles.cut == ("age",)
    again = predictions(done.path, csv, tmp_path)["prediction"]
    data = read_data([csv], roles, PLAIN)
    assert (again == done.model.predict(data.X)).all()
    text = write_csv(tmp_path / "t.csv", {**people(), "age": ["old"] * 150})
    with pytest.raises(TableError, match="held numbers when the model was fitted"):
        predict_rows(str(done.path), [text], PLAIN)


def test_a_task_with_one_row_is_fitted_and_left_out_of_the_report(tmp_path):
    data = people()
    data["job"][0] = "vet"
    done = fitted(write_csv(tmp_path / "a.csv", data), tmp_path, folds=3)
    assert "vet" in done.model.tasks_.tolist()
    assert done.audit.provenance.n_rows == 149
    assert any("1 row is not in the report" in note for note in done.notes)


def test_a_group_of_one_row_is_not_estimable(tmp_path):
    data = people(n=30, groups="ff")
    data["gender"][0] = "m"
    csv = write_csv(tmp_path / "a.csv", data)
    with pytest.raises(NotEstimableError, match="--folds 0 reports on the rows fitted"):
        fitted(csv, tmp_path, folds=5)
    assert not (tmp_path / "m.rankfair").exists()


def test_tasks_outside_their_band_are_known(tmp_path):
    data = people()
    data["gender"] = np.where(data["job"] == "cook", "f", data["gender"])
    csv = write_csv(tmp_path / "a.csv", data)
    done = fitted(csv, tmp_path, ModelSettings(scope="task"))
    assert list(done.model.unbalanced_tasks_) == ["cook"]


@pytest.mark.parametrize("column", ["pay", "job", "age"])
def test_empty_cells_are_refused_with_their_line(tmp_path, column):
    csv = write_csv(tmp_path / "a.csv", people(), [(4, column)])
    with pytest.raises(TableError, match="line 6"):
        fitted(csv, tmp_path)


def test_rows_without_a_group_are_fitted(tmp_path):
    csv = write_csv(tmp_path / "a.csv", people(), [(4, "gender")])
    done = fitted(csv, tmp_path)
    assert done.n_rows == 150
    assert done.audit.sensitive_features[0].n_missing == 1


@pytest.mark.filterwarnings("ignore:what is outside the band may be:UserWarning")
def test_categories_are_told_in_a_sentence_or_two(tmp_path):
    data = people()
    texts = {f"c{i}": np.where(data["age"] % 2, "odd", "even") for i in range(9)}
    texts["same"] = np.full(150, "x")
    done = fitted(write_csv(tmp_path / "a.csv", {**data, **texts}), tmp_path)
    assert (
        'Encoded 10 columns of text as 0/1 ("education", "c0", "c1" and 7 more). '
        'Left out 1 column of one value ("same").'
    ) in done.notes
    assert 'Left out "same"' in done.details


def test_the_report_cuts_numbers_where_the_model_does(tmp_path):
    data = people()
    heavy = np.where(data["age"] > np.median(data["age"]), 9.0, 1.0)
    jobs = np.array(data["job"], object)
    jobs[np.argsort(data["age"])[-15:]] = [f"only {i}" for i in range(15)]
    csv = write_csv(tmp_path / "a.csv", {**data, "job": jobs, "w": heavy})
    for weight in (None, "w"):
        roles = Roles("pay", ("age",), ("job",), weight=weight, cut=("age",))
        asked = ModelSettings(0.1, bins=3, blind=False, penalty="task", beta=1.0)
        done = fitted(csv, tmp_path, asked, roles, folds=2)
        # The only row of a task cannot be left out; one of its copies can.
        few = done.audit.provenance.n_rows < done.n_rows
        assert few == (weight is None)
        cut = {*done.model.groups_.tolist()}
        seen = {each.group for each in done.audit.comparisons}
        assert seen == cut


def test_nothing_to_predict_from_or_to_predict(tmp_path):
    csv = pay_csv(tmp_path)
    with pytest.raises(ValueError, match="--target"):
        read_data([csv], Roles(sensitive=("gender",)), PLAIN)
    with pytest.raises(TableError, match="no column left to predict from"):
        roles = Roles("pay", ("gender",), ("job",), drop=("age", "education"))
        read_data([csv], roles, PLAIN)


def test_a_model_made_in_python_has_no_design(tmp_path):
    model = RankFairRegressor().fit(
        np.arange(20.0)[:, None],
        np.arange(20.0) % 7,
        sensitive_features=["f", "m"] * 10,
    )
    path = save_model(model, tmp_path / "m.rankfair")
    with pytest.raises(
        ModelFileError, match=r"m\.rankfair does not say how .*load_model"
    ):
        predict_rows(str(path), [pay_csv(tmp_path)], PLAIN)
    model = load_model(path)
    for odd in ({}, {"target": "y", "sensitive": [1], "tasks": [], "cut": []}):
        extra = {"kind": "rankfair-design", **odd}
        path = save_model(model, tmp_path / "m.rankfair", extra=extra)
        with pytest.raises(ModelFileError, match="does not say what it was fitted to"):
            predict_rows(str(path), [pay_csv(tmp_path)], PLAIN)


def test_the_design_survives_the_file(tmp_path):
    done = fitted(pay_csv(tmp_path), tmp_path)
    stored = read_extra(done.path)
    assert ModelColumns.from_dict(stored).to_dict() == stored
    roles, _ = ModelColumns.from_dict(stored).reading(PLAIN)
    assert roles.needed == ("gender", "job", "age", "education")


def test_combinations_are_balanced_if_asked(tmp_path):
    data = people()
    data["site"] = np.where(np.arange(150) % 2, "a", "b")
    csv = write_csv(tmp_path / "a.csv", data)
    roles = Roles("pay", ("gender", "site"), ("job",))
    done = fitted(csv, tmp_path, ModelSettings(0.05, intersect=True), roles)
    assert done.model.intersect
    assert "gender × site" in {each.name for each in done.audit.sensitive_features}


def test_the_report_says_that_it_is_a_fit_and_with_which_limit(tmp_path):
    csv = pay_csv(tmp_path)
    title = fitted(csv, tmp_path, ModelSettings(epsilon=0.03)).audit.title
    assert title == "Fit before and after the limit ε = 0.03, on the rows fitted"
    held = fitted(
        csv, tmp_path, ModelSettings(constraints=("mean",)), folds=2
    ).audit.title
    assert "mean" in held
    assert held.endswith("rows left out")
    assert fitted(csv, tmp_path, title="Pay").audit.title == "Pay"


def test_rows_of_no_weight_are_not_counted_as_fitted(tmp_path):
    weights = np.arange(150) % 3
    csv = write_csv(tmp_path / "a.csv", {**people(), "w": weights})
    for weight, count in ((None, 150), ("w", 100)):
        drop = () if weight else ("w",)
        roles = Roles("pay", ("gender",), ("job",), weight=weight, drop=drop)
        assert fit_files([csv], roles, PLAIN, ModelSettings(), folds=0).n_rows == count
