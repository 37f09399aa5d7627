"""Two groups to compare, and what an audit asks of `rankfair.stats` about them."""

import numpy as np
from hypothesis import strategies as st
from scipy.stats import rankdata

from rankfair.stats.auc import auc_estimate
from rankfair.stats.distances import GroupDraws, distances
from rankfair.stats.estimate import TwoGroups
from rankfair.stats.ordered import Ordered, placements
from rankfair.stats.within_tasks import WithinTasks

# Few different values make many ties.
values = st.one_of(
    st.integers(-3, 3).map(float), st.floats(-1e6, 1e6).map(lambda v: round(v, 6))
)


@st.composite
def samples(draw, least=2, most=25):
    m = draw(st.lists(values, min_size=2 * least, max_size=2 * most))
    in_a = draw(st.permutations([True] * least + [False] * (len(m) - least)))
    more = draw(st.integers(0, len(m) - 2 * least))
    in_a = np.array(in_a)
    in_a[np.flatnonzero(~in_a)[:more]] = True
    return np.array(m), in_a


def shifted(n_a=40, n_b=60, by=0.5, seed=0):
    rng = np.random.default_rng(seed)
    in_a = rng.permutation(np.arange(n_a + n_b) < n_a)
    return rng.normal(size=n_a + n_b) + by * in_a, in_a


def distances_of(m, in_a, tasks=None, **settings):
    """Both distances of two groups, as an audit asks for them."""
    rows = Ordered.of(m)
    in_a, tasks = (None if v is None else v[rows.order] for v in (in_a, tasks))
    draws = GroupDraws(rows, in_a.astype(int), 2, np.ones(len(m)), tasks, **settings)
    groups = TwoGroups.of(in_a, tasks)
    return distances(draws, (1, 0), np.arange(len(m)), groups, 0.95)


def estimate(m, in_a, tasks=None, weights=None, confidence=0.95):
    """The AUC with its interval, as an audit asks for it."""
    placed = placements(m, in_a, weights)
    twice = np.rint(2 * rankdata(m)).astype(int)
    ranks = None if weights is not None else (twice[in_a], twice[~in_a])
    groups = TwoGroups.of(in_a, tasks, weights)
    return auc_estimate(*placed, groups, confidence, ranks)


def within(m, in_a, tasks, weights=None):
    return WithinTasks.of_rows(m, tasks, in_a, weights)
