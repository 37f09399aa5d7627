import pytest

from paper.summary import Summary


def row(method, repeat=0, rows="train", kind="table", **measures):
    head = {"kind": kind, "data": "wine", "method": method, "repeat": repeat}
    return head | {"rows": rows} | measures


def test_swapping_the_groups_shows_the_same():
    pairs = [(0.2, 0.5), (0.45, 0.9), (0.6, 1.2)]
    one, two = (
        Summary([row("Rank", i, auc=a, irr=r) for i, (a, r) in enumerate(each)])
        for each in (pairs, [(1 - a, 1 / r) for a, r in pairs])
    )
    shown, swapped = (it.shown("wine", "Rank", "auc") for it in (one, two))
    assert shown.mean >= 0.5
    assert (shown.mean, shown.sd) == pytest.approx((swapped.mean, swapped.sd))
    assert all(it.shown("wine", "Rank", "irr").mean <= 1 for it in (one, two))


@pytest.mark.parametrize(
    ("rows", "metric", "best"),
    [
        ([row("a", auc=0.47), row("b", auc=0.6)], "auc", "a"),
        # Far off on both sides is not near.
        ([row("a", 0, md=-5.0), row("a", 1, md=5.0), row("b", md=0.3)], "md", "b"),
        # A constant is level, and no model.
        ([row("a", auc=0.5, rmse=1.0), row("b", auc=0.51, rmse=0.8)], "auc", "b"),
        ([row("a", auc=0.5, rmse=1.0)], "auc", "a"),
    ],
)
def test_the_best_is_the_nearest_to_ideal(rows, metric, best):
    assert Summary(rows).best("wine", ["a", "b"], metric)[0] == best
