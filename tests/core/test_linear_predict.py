import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankfair.core.blocks import linear_predict


def model(n_rows=200, n=5, k=7, seed=0):
    rng = np.random.default_rng(seed)
    return (
        rng.normal(size=(n_rows, n)),
        rng.integers(0, k, n_rows),
        rng.normal(size=(k, n)),
        rng.normal(size=k),
    )


@pytest.mark.parametrize("n", [1, 2, 5, 17])
@given(data=st.data())
def test_a_prediction_does_not_depend_on_other_rows(n, data):
    X, codes, coef, intercept = model(n=n)
    whole = linear_predict(X, codes, coef, intercept)
    some = data.draw(st.lists(st.integers(0, len(X) - 1), min_size=1, max_size=30))
    part = linear_predict(X[some], codes[some], coef, intercept)
    assert part.tobytes() == whole[some].tobytes()


@pytest.mark.parametrize(
    "layout",
    [
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=0)[::2],
        lambda X: np.repeat(X, 3, axis=1)[:, ::3],
        lambda X: X[::-1].copy()[::-1],
        lambda X: X[:, ::-1].copy()[:, ::-1],
    ],
)
def test_nor_on_the_layout_of_memory(layout):
    X, codes, coef, intercept = model()
    plain = linear_predict(X, codes, coef, intercept)
    other = linear_predict(layout(X), codes, coef, intercept)
    assert other.tobytes() == plain.tobytes()
    few = linear_predict(layout(X)[3:8], codes[3:8], coef, intercept)
    assert few.tobytes() == plain[3:8].tobytes()


def test_no_columns_and_no_rows():
    intercept = np.array([1.0, 2.0])
    m = linear_predict(
        np.empty((3, 0)), np.array([1, 0, 1]), np.empty((2, 0)), intercept
    )
    assert m.tolist() == [2.0, 1.0, 2.0]
    none = linear_predict(np.empty((0, 2)), np.empty(0, int), np.eye(2), intercept)
    assert none.shape == (0,)
