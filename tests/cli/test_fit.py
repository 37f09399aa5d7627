"""What a fit keeps and reports, also of folders of Parquet files."""

import json
import re

import numpy as np
import pytest

from commands import COMMON, answer, prose, run, valid
from rankfair.files.columns import Roles
from rankfair.files.model_files import load_model
from rankfair.files.read import files_of, load, read_table
from rankfair.files.table import Reading, Table
from rankfair.files.write import write_table
from rankfair.metrics import rank_auc
from sheets import pay_csv, people, write_csv


def fitted(csv, tmp_path, **more):
    return answer("fit", csv, out=tmp_path / "m.rankfair", **{"folds": 0, **more})


def predictions(done, csv, tmp_path):
    out = tmp_path / "p.csv"
    run("predict", done.path, csv, "-o", out, code=0)
    return read_table(str(out), text=["job", "gender"])


def test_the_file_predicts_what_the_model_does_and_is_in_its_band(tmp_path):
    csv = pay_csv(tmp_path)
    done = fitted(csv, tmp_path)
    table = predictions(done, csv, tmp_path)
    groups = {"sensitive_features": table["gender"]}
    auc = rank_auc(None, table["prediction"], **groups)
    assert auc == pytest.approx(done.model.rank_auc_, abs=1e-12)
    left_out = rank_auc(None, done.model.loo_predictions_, **groups)
    assert left_out == pytest.approx(done.model.loo_auc_, abs=1e-12)
    sizes = np.unique(table["gender"], return_counts=True)[1]
    assert abs(left_out - 0.5) <= 0.01 + 1 / np.prod(sizes)


def test_the_report_is_of_rows_held_out(tmp_path):
    told = []
    done = fitted(pay_csv(tmp_path), tmp_path, folds=3, told=told)
    assert told[0][0] == "reading"
    assert [step for _, step, _ in told] == sorted(step for _, step, _ in told)
    assert done.measured == "left out"
    before, after = done.audit.comparisons
    assert (before.model, after.model) == ("before", "after")
    assert after.gap < before.gap
    assert done.audit.provenance.n_rows == done.n_rows == 150
    trained = fitted(pay_csv(tmp_path), tmp_path)
    assert trained.measured == "fitted"
    assert trained.audit.models[1].rmse.value < done.audit.models[1].rmse.value


def test_every_constraint_has_its_own_epsilon_and_is_told(tmp_path):
    both = ["--constraint", "rank", "--constraint", "mean", "--folds", 0]
    line = ["fit", pay_csv(tmp_path), *COMMON, *both]

    def means(*epsilons):
        options = [word for each in epsilons for word in ("--epsilon", each)]
        return json.loads(run(*line, *options, "--json").stdout)["constraints"]

    one, each = means(0.1), means(0.1, 0.01)
    assert 0.01 < abs(one["mean"]) <= 0.1 + 1e-9
    assert abs(each["mean"]) <= 0.01 + 1e-9
    shown = run(*line).stdout
    assert re.match(r"Fitted to 150 rows: satisfied, rank gap 0\.\d+, mean -?\d", shown)


@pytest.mark.parametrize(
    ("options", "first", "then"),
    [
        ([], "In .*after", "Within tasks .*tell the groups apart"),
        (
            ["--scope", "task"],
            "As asked, 3 of 3 tasks are in their band",
            'As asked, "f" against "m": AUC within tasks .*In .*after.* of pairs',
        ),
        (
            ["--constraint", "mean"],
            'As asked, "f" against "m": difference of means',
            "without the constraint.*In .*after.* of pairs",
        ),
    ],
    ids=["rank", "tasks", "mean"],
)
def test_the_verdict_speaks_of_what_was_asked_and_then_of_the_rest(
    tmp_path, options, first, then
):
    line = ["fit", pay_csv(tmp_path), *COMMON, *options]
    found = valid(run(*line, "--json", code=0), "fit")
    assert re.match(first, found["verdict"])
    assert re.search(then, found["verdict"])
    said = prose(run(*line, code=0))
    assert found["verdict"] in said
    # Known from rows left out of the fit, which a scope of tasks has not.
    assert ("tell the groups apart" in said) == ("task" not in options)


@pytest.mark.parametrize("options", [(), ("--constraint", "mean"), ("--scope", "task")])
def test_the_rank_gap_is_of_the_rows_that_are_named(tmp_path, options):
    file, model = pay_csv(tmp_path), tmp_path / "m.rankfair"
    said = prose(run("fit", file, *COMMON, *options, "-o", model, code=0))
    found = load_model(model)
    gap, trained = abs(found.loo_auc_ - 0.5), abs(found.rank_auc_ - 0.5)
    if "task" in options:
        assert f"rank gap {trained:.4f}." in said
    else:
        assert f"rank gap {gap:.4f}" in said and f"{trained:.4f} on training" in said
        assert f"{gap:.4f}" != f"{trained:.4f}"


@pytest.mark.parametrize("job", [True, False])
def test_a_model_that_is_blind_in_name_only_says_so(tmp_path, job):
    data = people(n=240)
    if job:
        data["job"] = [f"{sex}{i % 4}" for i, sex in enumerate(data["gender"])]
        why = ", and every task has one group only"
    else:
        data["age"], why = np.where(data["gender"] == "m", 40, 30), ""
    said = prose(run("fit", write_csv(tmp_path / "a.csv", data), *COMMON))
    assert re.search(
        rf"apart with AUC \S+?{why}: the model is blind in name only", said
    )


def test_bins_are_in_their_order_and_cut_where_the_model_cuts(tmp_path):
    data = people()
    data["years"] = data["age"] - 18  # from 2 on: "[12" sorts before "[2"
    data["w"] = np.where(data["age"] > np.median(data["age"]), 9.0, 1.0)
    csv = write_csv(tmp_path / "a.csv", data)
    two = {"sensitive": ["years"], "task": None, "drop": ["gender", "job", "age", "w"]}
    two |= {"bins": 2, "blind": False}
    done = fitted(csv, tmp_path, **two, epsilon=[0.1])
    after = done.audit.comparisons[-1]
    assert after.auc.value == pytest.approx(done.model.rank_auc_, abs=1e-12)
    path = answer("path", csv, **two, at=[0.1]).path
    assert path.rows[0].train_auc == pytest.approx(done.model.rank_auc_, abs=1e-3)
    assert path.rows[0].group == after.group == path.groups[-1]


def test_what_cannot_be_held_out_is_said(tmp_path):
    data = people()
    data["job"][0] = "vet"
    file = write_csv(tmp_path / "a.csv", data)
    done, whole = fitted(file, tmp_path, folds=3), answer("audit", file)
    assert "vet" in done.model.tasks_.tolist()
    made = done.audit.provenance
    assert made.n_rows == 149  # the fingerprint is of all rows
    assert made.fingerprint == whole.audit.provenance.fingerprint
    assert any("1 row is not in the report" in note for note in done.notes)


def test_tasks_outside_their_band_are_named(tmp_path):
    data = people()
    data["gender"] = np.where(data["job"] == "cook", "f", data["gender"])
    file = write_csv(tmp_path / "a.csv", data)
    done = run("fit", file, *COMMON, "--scope", "task", "--folds", 0, code=0)
    assert "2 of 3 tasks are in their band, on training rows; not" in prose(done)
    assert "The model was not kept" in done.stderr
    assert 'Encoded 1 column of text as 0/1 ("education").' in done.stderr
    assert list(fitted(file, tmp_path, scope="task").model.unbalanced_tasks_) == [
        "cook"
    ]


def test_rows_of_no_group_or_no_weight(tmp_path):
    data = {**people(), "w": np.arange(150) % 3}
    csv = write_csv(tmp_path / "a.csv", data, [(4, "gender")])
    for weight, count in ((None, 150), ("w", 100)):
        done = fitted(csv, tmp_path, weight=weight, drop=None if weight else ["w"])
        assert done.n_rows == count
        assert done.audit.sensitive_features[0].n_missing == 1
        assert any("1 row has no gender: fitted, but in no" in n for n in done.notes)


def test_combinations_are_balanced_and_the_title_is_kept(tmp_path):
    data = people()
    data["site"] = np.where(np.arange(150) % 2, "a", "b")
    csv = write_csv(tmp_path / "a.csv", data)
    both = {"sensitive": ["gender", "site"], "intersect": True}
    done = fitted(csv, tmp_path, **both, epsilon=[0.05])
    assert done.model.intersect
    assert "gender × site" in {each.name for each in done.audit.sensitive_features}
    assert fitted(csv, tmp_path, title="Pay").audit.title == "Pay"


# Folders of Parquet files


@pytest.fixture
def folder(tmp_path):
    """A folder of two files, with a task of numbers."""
    pytest.importorskip("pyarrow")
    data = people(n=240)
    del data["education"]
    data["job"] = np.unique(data["job"], return_inverse=True)[1] + 10
    columns = {
        name: values if values.dtype.kind in "if" else values.astype(object)
        for name, values in data.items()
    }
    for name, rows in (("a", slice(0, 100)), ("b", slice(100, None))):
        part = Table({n: values[rows] for n, values in columns.items()})
        write_table(part, tmp_path / "rows" / f"{name}.parquet")
    return tmp_path / "rows"


@pytest.mark.parametrize("large", [False, True])
def test_a_folder_is_fitted_in_memory_while_it_is_small(folder, tmp_path, large):
    told, model, out = [], tmp_path / "m.rankfair", tmp_path / "out"
    most = {"memory_rows": 100} if large else {}
    done = answer("fit", folder, out=model, blind=False, folds=2, told=told, **most)
    assert (done.audit is None) == large
    if large:
        assert "no report" in done.notes[0] and told[-1][2] == 240
        line = ["fit", folder, *COMMON, "--memory-rows", 100]
        assert valid(run(*line, "--json", code=0), "fit")["audit"] is None
        said = run(*line, "--max-gap", 0, code=2).stderr
        assert said.startswith("--max-gap cannot be used when a folder")
    wrote = run("predict", model, folder, "-o", out, code=0).stderr
    assert wrote == f"wrote 240 rows to {out}\n"
    rows = load(files_of(str(out)), Roles("pay", ("gender",), ("job",)), Reading())
    auc = rank_auc(None, rows["prediction"], sensitive_features=rows["gender"])
    assert auc == pytest.approx(done.model.rank_auc_, abs=1e-9)
    assert abs(auc - 0.5) < 0.02


def test_one_fold_is_refused_before_anything_is_fitted(tmp_path):
    for more in ([], ["--scope", "task"]):
        line = ["fit", pay_csv(tmp_path), *COMMON, "--folds", 1, *more]
        said = run(*line, code=2).stderr
        assert said == "--folds must be a whole number ≥ 2; got 1.\n"


def test_a_setting_without_an_option_keeps_its_name_in_python(tmp_path):
    data = people(n=400)
    data["job"], data["gender"] = np.repeat(np.arange(40), 10), ["f", "m"] * 200
    csv = write_csv(tmp_path / "even.csv", data)
    said = run("fit", csv, *COMMON, "--text", "job", code=0).stderr
    assert "by design: counts on left-out rows are 0.01 to 0.02 too low" in said
    assert 'count="train" does not have this bias.' in said and "--count" not in said


def test_what_cannot_be_streamed_is_said(folder):
    for options, sentence in (
        ({"target": None}, "^y is needed"),
        ({"sensitive": ["gendr"]}, 'Did you mean "gender"'),
        ({"drop_missing": True}, "^drop_missing cannot be used when a folder is"),
        ({"missing": ["NA"]}, "^missing cannot .* Fit to 100 rows at most"),
    ):
        with pytest.raises(ValueError, match=sentence):
            answer("fit", folder, **options, memory_rows=100)
    line = ["compare", folder, *COMMON, "-o", folder / "t.parquet"]
    assert "in a folder that is read" in run(*line, code=2).stderr
    assert not (folder / "t.parquet").exists()
