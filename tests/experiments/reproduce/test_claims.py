import pytest

from rankfair.experiments.reproduce.agreement import agreement, residual_identity
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
    assert held(GOOD) == [True] * 5
    assert all(claim.holds for claim in evaluate(Summary(GOOD), ["wine"]))


@pytest.mark.parametrize(
    ("worse", "broken"),
    [
        (row("Rank", repeat=1, auc=0.506, gap=0.006), 0),
        (row("Rank", repeat=1, irr=1.03), 0),
        (row("SDBC", auc=0.51, gap=0.01, rmse=0.45), 1),
        (row("Rank + Mean", repeat=1, rmse=0.6, md=-0.006), 2),
        (row("Rank", "held-out", repeat=1, auc=0.58), 4),
    ],
)
def test_one_bad_record_breaks_its_claim_only(worse, broken):
    assert held([*GOOD, worse]) == [i != broken for i in range(5)]


def test_the_paper_is_the_measure_of_the_mean_difference():
    worse = row("Rank + Mean", repeat=1, rmse=0.6, md=0.054)  # printed: 0.053
    assert held([*GOOD, worse]) == [True, True, False, False, True]


def test_at_the_edge_of_the_band_it_still_holds():
    assert held([*GOOD, row("Rank", repeat=1, auc=0.505, gap=0.505 - 0.5)])[0]


def test_what_was_not_run_is_not_claimed():
    assert held([]) == [False] * 5
    assert held([row("Rank", auc=0.9, gap=0.4)])[1] is False
    for claim in evaluate(Summary([]), ["wine"])[:1]:
        assert "not run" in claim.figures[0]


def test_one_dataset_of_all_may_miss_the_held_out_interval():
    rows = [it | {"data": name} for name in DATASETS for it in GOOD]
    rows += [row("Rank", "held-out", repeat=1, auc=0.7, data="student")]
    inside = evaluate(Summary(rows), DATASETS)[-1]
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
