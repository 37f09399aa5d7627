import pytest

from paper.claims import evaluate
from paper.summary import Summary


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


@pytest.mark.parametrize(
    ("worse", "broken"),
    [
        # At the edge of the band it still holds.
        (row("Rank", repeat=1, auc=0.505, gap=0.505 - 0.5), ()),
        (row("Rank", repeat=1, auc=0.506, gap=0.006), (0,)),
        (row("Rank", repeat=1, irr=1.03), (0,)),
        (row("SDBC", auc=0.51, gap=0.01, rmse=0.45), (1,)),
        (row("Rank + Mean", repeat=1, rmse=0.6, md=-0.006), (2,)),
        # The paper prints 0.053.
        (row("Rank + Mean", repeat=1, rmse=0.6, md=0.054), (2, 3)),
    ],
)
def test_one_bad_record_breaks_its_claims_only(worse, broken):
    assert held(GOOD) == [True] * 6
    assert held([*GOOD, worse]) == [i not in broken for i in range(6)]


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
