"""Pupils of many schools whose level is learnt from few rows each."""

import numpy as np
from sklearn.metrics import roc_auc_score

rng = np.random.default_rng(0)
SCHOOLS, PUPILS = 160, 45
SCHOOL = np.repeat(np.arange(SCHOOLS), PUPILS)
QUALITY = rng.normal(size=SCHOOLS)
N = len(SCHOOL)
IN_A = rng.random(N) < 1 / (1 + np.exp(1 + QUALITY[SCHOOL]))
HOME = rng.normal(size=N) - 0.5 * IN_A
Y = 2 * QUALITY[SCHOOL] + 2 * HOME - 2 * IN_A + rng.normal(scale=6, size=N)
X = np.column_stack((IN_A, HOME, SCHOOL[:, None] == np.arange(SCHOOLS)))


def held_out_gap(model, n_splits, X=X, Y=Y):
    """The mean signed gap on held-out halves, and its standard error.

    Both halves of a split are held out once, so that what chance puts into one cancels.
    """
    gaps = []
    for seed in range(n_splits):
        mixed = np.random.default_rng(seed).permutation(N)
        halves = mixed[: N // 2], mixed[N // 2 :]
        both = [
            roc_auc_score(IN_A[new], model.fit(X[old], Y[old]).predict(X[new]))
            for old, new in (halves, halves[::-1])
        ]
        gaps.append(np.mean(both) - 0.5)
    return np.mean(gaps), np.std(gaps, ddof=1) / np.sqrt(n_splits)
