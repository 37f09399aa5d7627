"""Left-out predictions are those of refits, with weights and several groups too."""

import numpy as np
import pytest

from rankfair import MultiTaskRegressor, RankFairRegressor

BETAS = (3.0, 0.5, 2.0)  # of pool
RIDGE = 2.0


def rows(n_rows=90, n_groups=2, seed=0):
    """Uneven tasks, two of them of one row; groups that the first column shows."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, n_groups, n_rows)
    tasks = np.minimum(rng.geometric(0.4, n_rows), 5)
    tasks[:2] = 100, 101
    X = rng.normal(size=(n_rows, 2)) + np.outer(z, [0.8, 0.2])
    y = X @ [1.0, 0.5] + 0.3 * tasks.clip(max=5) + rng.normal(size=n_rows)
    return X, y, z, tasks


class Refits:
    """One big ridge regression with the scales of all rows held."""

    def __init__(self, X, tasks, w, penalty):
        mean = np.average(X, axis=0, weights=w)
        Z = (X - mean) / np.sqrt(np.average((X - mean) ** 2, axis=0, weights=w))
        own = (tasks[:, None] == np.unique(tasks)).astype(float)
        slopes = [own[:, [j]] * Z for j in range(own.shape[1])]
        k, n = own.shape[1], X.shape[1]
        if penalty == "ridge":
            self.columns = np.hstack((own, *slopes))
            self.pulls = np.repeat([0.0, RIDGE], [k, n * k])
        else:
            beta, of_intercepts, common = BETAS
            self.columns = np.hstack((np.ones((len(X), 1)), Z, own, *slopes))
            sizes = [1, n, k, n * k]
            self.pulls = np.repeat([0.0, common, of_intercepts, beta], sizes)
        self.w = w

    def fitted(self, target, w=None):
        w = self.w if w is None else w
        gram = (self.columns.T * w) @ self.columns + np.diag(self.pulls)
        return (
            self.columns
            @ np.linalg.lstsq(gram, self.columns.T @ (w * target), rcond=None)[0]
        )

    def left_out(self, target):
        """Each row by the fit with one unit of its weight less, or without it."""
        found = np.empty(len(target))
        for i in range(len(target)):
            less = self.w.copy()
            less[i] -= min(1.0, less[i])
            found[i] = self.fitted(target, less)[i]
        return found


def standard(values, w):
    mean = np.average(values, weights=w)
    return mean, np.sqrt(np.average((values - mean) ** 2, weights=w))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("penalty", "kind", "n_groups"),
    [("pool", None, 2), ("pool", "fractions", 3), ("ridge", "whole", 3)],
)
def test_left_out_is_a_refit_with_one_unit_of_weight_less(penalty, kind, n_groups):
    X, y, z, tasks = rows(n_groups=n_groups)
    rng, w = np.random.default_rng(7), np.ones(len(y))
    if kind is not None:
        whole = kind == "whole"
        w = rng.integers(1, 5, len(y)) * 1.0 if whole else rng.uniform(0.1, 2.5, len(y))
    refits, (mean, spread) = Refits(X, tasks, w, penalty), standard(y, w)
    how = {"penalty": penalty, "beta": BETAS if penalty == "pool" else RIDGE}
    given = {"tasks": tasks, "sample_weight": None if kind is None else w}
    free = MultiTaskRegressor(**how).fit(X, y, **given)
    expected = refits.left_out((y - mean) / spread)
    # Left out, the only row of a task is of no task; heavier rows leave something.
    alone = (tasks >= 100) & (w <= 1)
    found = (free.loo_predictions_ - mean) / spread
    np.testing.assert_array_equal(np.isnan(found), alone)
    np.testing.assert_allclose(found[~alone], expected[~alone], atol=1e-8)
    # The tilted fit: that of y − Σ λ g, one direction for each group against the rest.
    model = RankFairRegressor(0.02, **how).fit(X, y, sensitive_features=z, **given)
    assert model.multiplier_ != 0
    sides = [z == g for g in range(n_groups)][-1 if n_groups == 2 else 0 :]
    G = [np.where(own, 1 / w[own].sum(), -1 / w[~own].sum()) for own in sides]
    moved = np.column_stack([refits.fitted(g) for g in G])
    start = refits.fitted((y - mean) / spread)
    change = (model.predict(X, tasks=tasks) - mean) / spread - start
    lam = np.linalg.lstsq(moved, change, rcond=None)[0]
    np.testing.assert_allclose(moved @ lam, change, atol=1e-8)
    expected = expected + np.column_stack([refits.left_out(g) for g in G]) @ lam
    found = (model.loo_predictions_ - mean) / spread
    np.testing.assert_allclose(found[~alone], expected[~alone], atol=1e-8)
