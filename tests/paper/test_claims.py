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
        (row("SDBC", auc=0.51, gap=0.01, rmse=0.45), (1,)),
        # The paper prints 0.053.
        (row("Rank + Mean", repeat=1, rmse=0.6, md=0.054), (2, 3)),
    ],
)
def test_one_bad_record_breaks_its_claims_only(worse, broken):
    assert held(GOOD) == [True] * 6
    assert held([*GOOD, worse]) == [i not in broken for i in range(6)]
