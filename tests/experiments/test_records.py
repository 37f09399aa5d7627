import ast
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ks_2samp

import rankfair.experiments
from rankfair.datasets.synthetic import make_biased_tasks
from rankfair.experiments.methods import Method, Predictions, Rows
from rankfair.experiments.records import Mean, compare, measure, summarise


@pytest.fixture
def rows():
    return Rows.of(make_biased_tasks(2, 30, random_state=0))


def perfect(train, held_out, epsilon):
    return Predictions(train.y, held_out.y)


def test_the_target_itself_has_no_error_and_balanced_residuals(rows):
    for record in compare("perfect", Method(perfect, "no"), rows, rows, 0.1, seed=7):
        assert record["rmse"] == 0
        assert record["br"] == 0
        assert record["epsilon"] == 0.1
        assert (record["seed"], record["needs_group"]) == (7, "no")
        assert record["note"] == ""
        assert record["seconds"] >= 0


def test_swapping_the_groups_turns_every_measure_round(rows):
    one = measure(rows.y, rows.X[:, 0], rows.in_a)
    two = measure(rows.y, rows.X[:, 0], ~rows.in_a)
    assert one["auc"] == pytest.approx(1 - two["auc"])
    assert one["gap"] == pytest.approx(two["gap"])
    assert one["md"] == pytest.approx(-two["md"])
    assert one["br"] == pytest.approx(-two["br"])
    assert one["irr"] == pytest.approx(1 / two["irr"])
    assert one["ks"] == pytest.approx(two["ks"])
    assert one["rmse"] == two["rmse"]


def test_ks_is_the_greatest_distance_of_the_distributions(rows):
    x = rows.X[:, 1].round(1)
    a, b = x[rows.in_a], x[~rows.in_a]
    far = max(abs((a <= v).mean() - (b <= v).mean()) for v in x)
    assert measure(rows.y, x, rows.in_a)["ks"] == pytest.approx(far)
    assert far == pytest.approx(ks_2samp(a, b).statistic)


def test_warnings_become_a_note(rows):
    def worried(train, held_out, epsilon):
        warnings.warn("one", stacklevel=1)
        warnings.warn("two", RuntimeWarning, stacklevel=1)
        return perfect(train, held_out, epsilon)

    train, held_out = compare("worried", Method(worried, "no"), rows, rows, 0.0)
    assert train["note"] == held_out["note"] == "one two"


def test_each_record_is_of_its_own_rows(rows):
    half = rows.take(np.arange(60) < 30)

    def mean(train, held_out, epsilon):
        return Predictions(train.y, np.zeros(len(held_out.y)))

    train, held_out = compare("mean", Method(mean, "no"), rows, half, 0.0)
    assert (train["rows"], train["rmse"]) == ("train", 0)
    assert held_out["rmse"] == pytest.approx(np.sqrt((half.y**2).mean()))


def test_means_and_their_errors_are_over_draws(rows):
    def off(by):
        def method(train, held_out, epsilon):
            return Predictions(train.y + by, held_out.y)

        return Method(method, "no")

    sizes = (1.0, 2.0, 6.0)
    records = [
        record
        for seed, by in enumerate(sizes)
        for record in compare("off", off(by), rows, rows, 0.0, seed)
    ]
    train, held_out = summarise(records)
    assert (train.method, train.rows, held_out.rows) == ("off", "train", "held-out")
    assert train.rmse.value == pytest.approx(3.0)
    assert train.rmse.error == pytest.approx(np.std(sizes, ddof=1) / 3**0.5)
    assert held_out.rmse == Mean(0.0, 0.0)


def test_metrics_are_computed_in_one_module_only():
    folder = Path(rankfair.experiments.__file__).parent
    users = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            if any("metrics" in name or "stats" in name for name in names):
                users.add(path.name)
    assert users == {"records.py"}
