import math

import polars as pl
import pytest
from sklearn.dummy import DummyRegressor

from rankfair.cli import path as paths
from rankfair.cli.compare import compare_files, not_run
from rankfair.cli.data import ModelSettings
from rankfair.cli.errors import NotEstimableError
from rankfair.cli.fit import fit_files
from rankfair.cli.methods import GROUPLESS, METHODS, Method, MethodRequest
from rankfair.cli.path import epsilon_names, path_files
from rankfair.files.columns import Reading, Roles
from rankfair.paths import Path, PathRow
from sheets import pay_csv, people, write_csv

PLAIN = Reading()
ROLES = Roles(target="pay", sensitive=("gender",), tasks=("job",))


def test_all_methods_are_run_on_the_same_rows(tmp_path):
    told = []
    done = compare_files(
        [pay_csv(tmp_path)],
        ROLES,
        PLAIN,
        ModelSettings(blind=False),
        folds=2,
        on_step=lambda *step: told.append(step),
    )
    assert [line.method for line in done.page.lines] == list(METHODS)
    assert told == [(n, i, len(METHODS)) for i, n in enumerate(METHODS, start=1)]
    assert done.refused == {}
    by_name = {line.method: line for line in done.page.lines}
    gaps = {name: line.auc_gap.value for name, line in by_name.items()}
    assert gaps["tilt"] < gaps["unconstrained"]
    for line in done.page.lines:
        assert 0.0 <= line.auc_gap.ci_low <= line.auc_gap.value <= line.auc_gap.ci_high


def test_tilt_is_what_a_path_reports_in_the_same_folds(tmp_path):
    csv, asked = pay_csv(tmp_path), ModelSettings(blind=False)
    done = compare_files([csv], ROLES, PLAIN, asked, methods=["tilt"], folds=3)
    path = path_files([csv], ROLES, PLAIN, asked, epsilons=[0.01], folds=3).path
    assert done.page.lines[0].auc_gap.value == pytest.approx(path.rows[0].gap)
    assert done.page.lines[0].rmse.value == pytest.approx(path.rows[0].rmse)


@pytest.mark.filterwarnings("ignore:what is outside the band may be:UserWarning")
def test_a_path_compares_combinations_as_the_report_of_a_fit_does(tmp_path):
    data = people(n=240)
    data["site"] = ["a", "b", "b"] * 80
    csv = write_csv(tmp_path / "a.csv", data, [(3, "site")])
    roles = Roles("pay", ("gender", "site"), ("job",))
    asked = ModelSettings(epsilon=0.05, intersect=True)
    done = path_files([csv], roles, Reading(drop_missing=True), asked, epsilons=[0.05])
    (row,) = done.path.rows
    fitted = fit_files([csv], roles, Reading(drop_missing=True), asked, folds=0)
    rest = [
        c
        for c in fitted.audit.comparisons
        if c.sensitive_feature == "gender × site"
        and c.model == "after"
        and c.against == "the rest"
    ]
    assert {c.group for c in rest} == {"f × a", "f × b", "m × a", "m × b"}
    worst = max(rest, key=lambda c: c.gap)
    fits = (row.train_group, row.train_auc)
    assert fits == (worst.group, pytest.approx(worst.auc.value))
    unknown = path_files([csv], roles, PLAIN, asked, epsilons=[0.05])
    assert "1 row has no group and is left out." in unknown.notes


def test_rows_of_unknown_group_are_told(tmp_path):
    csv = write_csv(tmp_path / "a.csv", people(), [(3, "gender"), (9, "gender")])
    done = compare_files(
        [csv], ROLES, PLAIN, ModelSettings(), methods=["tilt"], folds=2
    )
    (said,) = [note for note in done.notes if note.startswith("2 rows have no gender")]
    assert said in done.page.notes
    done = path_files([csv], ROLES, PLAIN, ModelSettings(), epsilons=[0.1], folds=2)
    assert done.page.notes[-1] == "2 rows have no group and are left out."


def test_weights_below_zero_are_refused(tmp_path):
    data = people()
    csv = write_csv(tmp_path / "a.csv", {**data, "w": data["age"] - 30.0})
    roles = Roles("pay", ("gender",), ("job",), weight="w")
    for job in (compare_files, fit_files, path_files):
        with pytest.raises(ValueError, match="must not be negative"):
            job([csv], roles, PLAIN, ModelSettings(), folds=2)


@pytest.mark.parametrize("within", [0.0, 0.5])
def test_the_method_of_least_error_is_marked(tmp_path, within):
    some = ["unconstrained", "tilt"]
    done = compare_files(
        [pay_csv(tmp_path)],
        ROLES,
        PLAIN,
        ModelSettings(),
        methods=some,
        folds=2,
        within=within,
    )
    marked = [line.method for line in done.page.lines if line.chosen]
    assert marked == ([] if within == 0 else ["unconstrained"])
    assert ("No method" in done.page.summary) == (within == 0)


def test_methods_that_cannot_are_listed_with_the_reason(tmp_path):
    csv = pay_csv(tmp_path, groups="fmx")
    some = ["tilt", "NC-ADMM", "covariance"]
    done = compare_files([csv], ROLES, PLAIN, ModelSettings(), methods=some, folds=2)
    assert [line.method for line in done.page.lines] == ["tilt"]
    assert set(done.refused) == {"NC-ADMM", "covariance"}
    assert set(done.refused.values()) == {"it knows two groups only."}
    with pytest.raises(ValueError, match="no method could be run: it knows two groups"):
        compare_files(
            [csv], ROLES, PLAIN, ModelSettings(), methods=["NC-ADMM"], folds=2
        )
    roles = Roles("pay", ("gender", "education"), ("job",))
    done = compare_files(
        [csv], roles, PLAIN, ModelSettings(), methods=["tilt", "covariance"], folds=2
    )
    assert done.refused == {"covariance": "it knows one sensitive column only."}


def test_lines_say_which_groups_they_are_of(tmp_path):
    how = {"methods": ["unconstrained", "tilt"], "folds": 2}
    done = compare_files([pay_csv(tmp_path)], ROLES, PLAIN, ModelSettings(), **how)
    assert done.page.of_groups == "m v f"
    csv = pay_csv(tmp_path, groups="fmx")
    roles = Roles("pay", ("gender", "education"), ("job",))
    done = compare_files([csv], roles, PLAIN, ModelSettings(), **how)
    for line in done.page.lines:
        known = [
            c
            for c in done.audit.comparisons
            if f"{c.group} v {c.against} ({c.sensitive_feature})" == line.groups
            and c.model == line.method
        ]
        assert [c.gap for c in known] == [line.auc_gap.value]
        assert known[0].mean_difference == line.mean_difference
    path = path_files([csv], ROLES, PLAIN, ModelSettings(), epsilons=[0.3], folds=2)
    assert path.page.lines[0].groups == f"{path.path.rows[0].group} v the rest"


def test_settings_are_the_same_for_all():
    settings = ModelSettings(penalty="ridge", beta=3.0, blind=True)
    for name, method in METHODS.items():
        model = method.make(MethodRequest(ROLES, settings))
        model = getattr(model, "estimator", model)
        assert (model.penalty, model.beta, model.blind) == ("ridge", 3.0, True), name


def test_an_unknown_method_is_named(tmp_path):
    with pytest.raises(ValueError, match='"tilt"'):
        compare_files([pay_csv(tmp_path)], ROLES, PLAIN, ModelSettings(), methods=["x"])


def test_beta_is_chosen_once_for_all(tmp_path):
    settings = ModelSettings(beta=None)
    done = compare_files(
        [pay_csv(tmp_path)], ROLES, PLAIN, settings, methods=["tilt"], folds=2
    )
    assert len(done.page.lines) == 1


def test_a_path_asks_for_each_epsilon_and_tells_of_it(tmp_path):
    told = []
    done = path_files(
        [pay_csv(tmp_path)],
        ROLES,
        PLAIN,
        ModelSettings(),
        epsilons=[0.2, 0.0],
        folds=2,
        on_step=lambda *step: told.append(step),
    )
    assert [row.epsilon for row in done.path.rows] == [0.0, 0.2]
    assert told == [("epsilon 0", 1, 2), ("epsilon 0.2", 2, 2)]
    assert len(done.page.path) == 2


def test_a_path_marks_an_epsilon_only_where_one_stands_out(tmp_path, monkeypatch):
    row = PathRow(*[0.0] * 13, "satisfied")
    for errors, marked in (([3.0, 1.0, 0.9], 1), ([3.0, 2.0, 0.5], None)):
        rows = [row._replace(epsilon=e / 9, rmse=r) for e, r in enumerate(errors)]
        found = Path(tuple(rows), 10, 10, groups=("f", "m"))
        monkeypatch.setattr(paths, "fairness_path", lambda *_, p=found, **__: p)
        done = path_files([pay_csv(tmp_path)], ROLES, PLAIN, ModelSettings())
        chosen = [i for i, line in enumerate(done.page.lines) if line.chosen]
        assert chosen == ([] if marked is None else [marked])
        assert [i for i, p in enumerate(done.page.path) if p.chosen] == chosen
        (how,) = done.page.notes
        assert (paths.KNEE in how, paths.NO_KNEE in how) == (bool(marked), not marked)


def test_a_path_of_one_epsilon_compares_it_with_nothing(tmp_path):
    csv = pay_csv(tmp_path)
    done = path_files([csv], ROLES, PLAIN, ModelSettings(), epsilons=[0.1], folds=2)
    assert "above" not in done.page.summary


@pytest.mark.parametrize(
    ("groups", "sensitive", "sentence"),
    [
        ("ff", ("gender",), "has 1 group .* nothing to compare"),
        ("fm", ("gender", "education"), "--sensitive names 2"),
    ],
)
def test_a_path_compares_groups_of_one_column(tmp_path, groups, sensitive, sentence):
    csv = pay_csv(tmp_path, groups=groups)
    roles = Roles("pay", sensitive, ("job",))
    with pytest.raises(ValueError, match=sentence):
        path_files([csv], roles, PLAIN, ModelSettings())


def test_a_column_without_groups_is_named_whatever_is_asked(tmp_path):
    data = people(n=20)
    csv = write_csv(tmp_path / "a.csv", data, [(i, "gender") for i in range(20)])
    for job in (compare_files, fit_files, path_files):
        with pytest.raises(ValueError, match='"gender" has no groups: there is noth'):
            job([csv], ROLES, PLAIN, ModelSettings(), folds=2)
    data["site"] = ["a", "a", "b", "b"] * 5
    apart = [(i, ("gender", "site")[i % 2]) for i in range(20)]  # never both
    csv = write_csv(tmp_path / "b.csv", data, apart)
    roles = Roles("pay", ("gender", "site"), ("job",))
    with pytest.raises(ValueError, match='"gender × site" has no groups'):
        path_files([csv], roles, PLAIN, ModelSettings(intersect=True), folds=2)


def test_a_path_of_three_groups_says_whose_gap_it_is(tmp_path):
    csv = pay_csv(tmp_path, groups="fmx")
    how = {"epsilons": [0.05, 0.4], "folds": 2}
    done = path_files([csv], ROLES, PLAIN, ModelSettings(), **how)
    assert done.path.groups == ("f", "m", "x")
    assert {row.group for row in done.path.rows} <= {"f", "m", "x"}
    assert done.page.notes[-1].startswith("Each group is compared with all others")
    two = path_files([pay_csv(tmp_path)], ROLES, PLAIN, ModelSettings(), **how)
    assert len(two.page.notes) == 1 and {row.group for row in two.path.rows} == {"m"}


@pytest.mark.parametrize("job", [path_files, compare_files])
def test_single_rows_are_not_estimable(tmp_path, job):
    data = people(n=12)
    data["job"] = [f"t{i}" for i in range(12)]
    csv = write_csv(tmp_path / "a.csv", data)
    with pytest.raises(NotEstimableError, match="one row only"):
        job([csv], ROLES, PLAIN, ModelSettings())


def test_methods_that_cannot_cut_numbers_or_need_all_groups_say_so(tmp_path):
    some = ["tilt", "constant shift", "NC-ADMM", "covariance"]
    how = {"methods": some, "folds": 2}
    csv = pay_csv(tmp_path)
    roles = Roles("pay", ("age",), cut=("age",))
    done = compare_files([csv], roles, PLAIN, ModelSettings(bins=2), **how)
    assert done.refused == dict.fromkeys(
        ["constant shift", "covariance"], "it does not cut numbers into groups."
    )
    csv = write_csv(tmp_path / "b.csv", people(), [(0, "gender")])
    done = compare_files([csv], ROLES, PLAIN, ModelSettings(), **how)
    assert done.refused == dict.fromkeys(some[2:], GROUPLESS)
    assert done.audit.sensitive_features[0].n_missing == 1
    (said,) = not_run(done.refused)
    assert said in done.page.notes
    assert all(f'"{name}"' in said for name in some[2:]) and "--drop-missing" in said
    whole = Reading(drop_missing=True)
    assert not compare_files([csv], ROLES, whole, ModelSettings(), **how).refused


def test_groups_too_small_to_judge_have_no_gap(tmp_path):
    data = people(n=40, groups="ff")
    data["gender"][:4] = "m"
    csv = write_csv(tmp_path / "a.csv", data)
    done = compare_files(
        [csv], ROLES, PLAIN, ModelSettings(), methods=["tilt"], folds=2
    )
    assert math.isnan(done.page.lines[0].auc_gap.value)
    assert "can be estimated" in done.page.summary


def test_a_column_that_cannot_be_judged_leaves_no_method_fair(tmp_path):
    data = people(n=60)
    data["site"] = ["a"] * 57 + ["b"] * 3
    csv = write_csv(tmp_path / "a.csv", data)
    roles = Roles("pay", ("gender", "site"), ("job",))
    how = {"methods": ["tilt"], "folds": 2, "within": 0.5}
    done = compare_files([csv], roles, PLAIN, ModelSettings(), **how)
    assert not done.page.lines[0].chosen
    assert math.isnan(done.page.lines[0].auc_gap.value)


def with_few(tmp_path, count=4):
    """Write a pay roll with so many rows of a third group, all of them at the top."""
    data = people(n=90)
    data["gender"][:count] = "x"
    data["age"][:count], data["pay"][:count] = 64, 60.0
    return write_csv(tmp_path / "few.csv", data)


@pytest.mark.filterwarnings("ignore:predictor:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_groups_too_small_to_judge_are_named_and_never_the_worst(tmp_path):
    csv, how = with_few(tmp_path), {"folds": 2}
    seen = ModelSettings()
    path = path_files([csv], ROLES, PLAIN, seen, epsilons=[0.05, 0.4], **how)
    assert path.path.groups == ("f", "m", "x") and path.path.unjudged == ("x",)
    names = {row.group for row in path.path.rows}
    assert names | {row.train_group for row in path.path.rows} <= {"f", "m"}
    done = compare_files([csv], ROLES, PLAIN, seen, methods=["tilt"], **how)
    for found, label in ((path, "x"), (done, "x (gender)")):
        note = f'Groups of fewer than 5 rows are not judged: "{label}".'
        assert note in found.notes and note in found.page.notes
    five = with_few(tmp_path, 5)
    path = path_files([five], ROLES, PLAIN, seen, epsilons=[0.4], **how)
    assert path.path.unjudged == () and path.path.rows[0].group == "x"


def test_an_epsilon_that_is_no_width_is_refused_before_the_rows_are_read():
    for methods, epsilon, sentence in (
        (None, 0.7, r'in \[0, 0.5\] for "constant shift", .*; got 0.7'),
        (["tilt", "covariance"], 0.7, r'in \[0, 0.5\] for "tilt"; got 0.7'),
        (["map of distributions"], 1.5, r'in \[0, 1\] for "map of distributions"'),
        (["unconstrained"], math.inf, "a number ≥ 0; got inf"),
    ):
        with pytest.raises(ValueError, match=f"^epsilon must be .*{sentence}"):
            compare_files(
                ["no.csv"], ROLES, PLAIN, ModelSettings(epsilon), methods=methods
            )


def test_methods_take_every_epsilon_that_they_say_they_take(tmp_path):
    csv = pay_csv(tmp_path, n=60)
    for name, method in METHODS.items():
        widest = min(method.widest, 3.0)
        asked = ModelSettings(widest)
        done = compare_files([csv], ROLES, PLAIN, asked, methods=[name], folds=2)
        assert [line.method for line in done.page.lines] == [name]
        if method.widest < 3.0:
            model = method.make(MethodRequest(ROLES, ModelSettings(widest + 0.01)))
            with pytest.raises(ValueError, match="epsilon must be a number in"):
                model.fit(*framed(csv))


def framed(csv):
    """Return the numbers, the task and the group of a pay roll, and the pay."""
    frame = pl.read_csv(csv)
    return frame.select("job", "gender", "age"), frame["pay"].to_numpy()


def test_a_method_that_fails_is_named_with_its_reason(tmp_path, monkeypatch):
    class Fussy(DummyRegressor):
        def fit(self, X, y):
            raise ValueError("it rains.")

    monkeypatch.setitem(METHODS, "fussy", Method(lambda asked: Fussy()))
    csv, how = pay_csv(tmp_path), {"folds": 2}
    done = compare_files(
        [csv], ROLES, PLAIN, ModelSettings(), methods=["unconstrained", "fussy"], **how
    )
    assert done.refused == {"fussy": "it rains."}
    with pytest.raises(ValueError, match=r"no method could be run: it rains\."):
        compare_files([csv], ROLES, PLAIN, ModelSettings(), methods=["fussy"], **how)


def test_a_path_cuts_numbers_and_leaves_unknown_groups_out(tmp_path):
    data = people()
    csv = write_csv(tmp_path / "a.csv", data, [(0, "age"), (5, "age")])
    roles = Roles("pay", ("age",), ("job",), cut=("age",), drop=("gender",))
    done = path_files(
        [csv], roles, PLAIN, ModelSettings(bins=2, blind=False), epsilons=[0.1, 0.4]
    )
    assert done.path.n_held_out == 148
    assert "2 rows have no group and are left out." in done.notes
    assert done.path.rows[0].gap <= 0.1 + 1e-3


def test_each_epsilon_of_a_path_has_a_name_of_its_own():
    row = PathRow(*[0.0] * len(PathRow._fields))._replace(status="satisfied")
    for epsilons in ([0.1, 0.2], [0.1, 0.1001], [0.1, 0.1 + 1e-12]):
        path = Path(tuple(row._replace(epsilon=e) for e in epsilons), 10, 10)
        names = epsilon_names(path)
        assert len(set(names)) == 2
        assert names[0].startswith("ε = 0.1")
