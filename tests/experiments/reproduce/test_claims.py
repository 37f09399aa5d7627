import re
import statistics

import pytest

from rankfair.experiments.reproduce.agreement import (
    agreement,
    best_printed,
    residual_identity,
)
from rankfair.experiments.reproduce.claims import evaluate
from rankfair.experiments.reproduce.settings import DATASETS
from rankfair.experiments.reproduce.summary import Summary


def row(method, rows="train", repeat=0, data="wine", **measures):
    head = {"kind": "table", "data": data, "method": method, "repeat": repeat}
    base = {"auc": 0.5, "gap": 0.0, "irr": 1.0, "md": 0.0, "br": 0.0, "rmse": 0.5}
    return head | {"rows": rows, "auc_se": 0.01} | base | measures


GOOD = [
    row("Rank"),
    row("Rank", "held-out"),
    row("Rank + Mean", rmse=0.6),
    row("unconstrained", auc=0.9, gap=0.4, rmse=0.1),
]


def held(rows):
    return [claim.held == 1 for claim in evaluate(Summary(rows), ["wine"])]


def test_all_claims_hold_where_all_is_well():
    assert held(GOOD) == [True] * 6
    assert all(claim.holds for claim in evaluate(Summary(GOOD), ["wine"]))


@pytest.mark.parametrize(
    ("worse", "broken"),
    [
        (row("Rank", repeat=1, auc=0.506, gap=0.006), 0),
        (row("Rank", repeat=1, irr=1.03), 0),
        (row("SDBC", auc=0.51, gap=0.01, rmse=0.45), 1),
        (row("Rank + Mean", repeat=1, rmse=0.6, md=-0.006), 2),
    ],
)
def test_one_bad_record_breaks_its_claim_only(worse, broken):
    assert held([*GOOD, worse]) == [i != broken for i in range(6)]


def test_the_paper_is_the_measure_of_the_mean_difference():
    worse = row("Rank + Mean", repeat=1, rmse=0.6, md=0.054)  # printed: 0.053
    assert held([*GOOD, worse]) == [True, True, False, False, True, True]


def test_at_the_edge_of_the_band_it_still_holds():
    assert held([*GOOD, row("Rank", repeat=1, auc=0.505, gap=0.505 - 0.5)])[0]


def test_what_was_not_run_is_not_claimed():
    assert held([]) == [False] * 6
    assert held([row("Rank", auc=0.9, gap=0.4)])[1] is False
    for data in ([], ["wine"]):
        for claim in evaluate(Summary([]), data):
            assert not claim.holds
    for claim in evaluate(Summary([]), ["wine"]):
        assert re.search("not run|not among them", claim.figures[0])
        assert "nan" not in claim.figures[0]


@pytest.mark.parametrize("number", range(1, 9))
def test_one_dataset_in_eight_may_miss_the_interval_and_no_claim_is_empty(number):
    data = DATASETS[:number]
    rows = [it | {"data": name} for name in data for it in GOOD]
    far = row("Rank", "held-out", repeat=1, auc=0.7, data=data[-1])
    claim = evaluate(Summary([*rows, far]), data)[4]
    assert (claim.held, claim.of) == (number - 1, number)
    assert claim.holds == (number == 8)


@pytest.mark.parametrize(
    ("method", "broken"),
    [("Rank", (0, 1, 4, 5)), ("Rank + Mean", (1, 2, 3)), ("SDBC", (1,))],
)
def test_a_repeat_that_failed_breaks_every_claim_about_its_method(method, broken):
    bad = {"kind": "table", "data": "wine", "method": method, "repeat": 1}
    rows = [*GOOD, row("SDBC", auc=0.6, gap=0.1), bad | {"error": "no luck"}]
    assert held(rows) == [i not in broken for i in range(6)]
    said = evaluate(Summary(rows), ["wine"])[broken[0]].figures[0]
    assert f"{method}: 1 of 2 repeats failed" in said


def test_single_repeats_are_counted_each_in_its_own_interval():
    rows = [
        row("Rank", "held-out", repeat=i, auc=auc, auc_se=error)
        for i, (auc, error) in enumerate(
            [(0.51, 0.01), (0.49, 0.01), (0.53, 0.01), (0.53, 0.02), (0.5, 0.01)]
        )
    ]
    mean, single = evaluate(Summary([*GOOD[:1], *rows]), ["wine"])[4:]
    assert single.holds and "inside in 4 of 5 repeats" in single.figures[0]
    # The drift has its own error: of the mean, not of a repeat.
    spread = statistics.stdev([0.51, 0.49, 0.53, 0.53, 0.5]) / 5**0.5
    assert f"drift +0.0120 ± {spread:.4f} (standard error)" in mean.figures[0]
    worse = row("Rank", "held-out", repeat=5, auc=0.4, auc_se=0.01)
    assert not evaluate(Summary([*rows, worse]), ["wine"])[5].holds


def test_a_repeat_without_an_interval_is_left_out():
    bare = row("Rank", "held-out", repeat=1, auc=0.9)
    del bare["auc_se"]
    single = evaluate(Summary([*GOOD, bare]), ["wine"])[5]
    assert "inside in 1 of 1 repeats" in single.figures[0]


def test_one_dataset_of_all_may_miss_the_held_out_interval():
    rows = [it | {"data": name} for name in DATASETS for it in GOOD]
    rows += [row("Rank", "held-out", repeat=1, auc=0.7, data="student")]
    inside = evaluate(Summary(rows), DATASETS)[4]
    assert (inside.held, inside.of, inside.needed, inside.holds) == (7, 8, 7, True)


def test_agreement_counts_close_cells():
    rows = [row("Data", auc=1 - 0.769, irr=1 / 0.7)]
    found = agreement(Summary(rows), ["wine"])[0]
    assert found.counts["auc"] == (1, 1)
    assert found.counts["irr"] == (0, 1)
    assert found.counts["br"] == (0, 0)


def test_few_printed_columns_meet_their_own_definitions():
    found = residual_identity(DATASETS)
    assert found.of == 80
    assert 0 < found.close < 40


def test_the_best_printed_value_is_that_of_the_paper_in_our_orientation():
    strata = [f"SSEM s={s}" for s in (2, 3, 4, 5)]
    assert best_printed("synthetic 0.9", strata, "auc") == 0.525
    assert best_printed("synthetic 0.9", strata, "md") == 0.024
    assert best_printed("wine", ["Rank"], "auc") == pytest.approx(1 - 0.489)
    assert best_printed("wine", ["Rank"], "irr") == pytest.approx(1 / 1.020)
    assert best_printed("wine", ["Rank"], "rmse") is None
