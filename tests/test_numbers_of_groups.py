"""AUC, means, distances and shares of two groups against scipy and scikit-learn."""

import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import roc_auc_score

from rankfair.core.ranks import midranks
from rankfair.stats.auc import (
    GroupSpread,
    TaskPart,
    auc_estimate,
    auc_spread,
    over_tasks,
    score_limits,
    score_p_value,
)
from rankfair.stats.distances import distances
from rankfair.stats.estimate import Sides
from rankfair.stats.means import mean_gap, shares_and_ratio
from rankfair.stats.ordered import Ordered
from rankfair.stats.permutation import DRAWN, _hands, mann_whitney, normal_p
from rankfair.stats.variance import Part, welch_degrees
from rankfair.stats.within_tasks import WithinTasks, adjusted, pooled, task_estimates

# Few different values make many ties.
values = st.one_of(
    st.integers(-3, 3).map(float), st.floats(-1e6, 1e6).map(lambda v: round(v, 6))
)


@st.composite
def groups(draw, least=2, most=25):
    m = draw(st.lists(values, min_size=2 * least, max_size=2 * most))
    in_a = draw(st.permutations([True] * least + [False] * (len(m) - least)))
    more = draw(st.integers(0, len(m) - 2 * least))
    in_a = np.array(in_a)
    in_a[np.flatnonzero(~in_a)[:more]] = True
    return np.array(m), in_a


def view(m, in_a, tasks=None, weights=None):
    rows = Ordered.of(m)
    order = rows.order
    mass = np.ones(len(m)) if weights is None else weights
    masses = (mass * in_a)[order], (mass * ~in_a)[order]
    sides = Sides.of(
        in_a[order],
        ~in_a[order],
        ("A", "B"),
        None if tasks is None else tasks[order],
        None if weights is None else weights[order],
    )
    return rows, sides, masses


def estimate(m, in_a, tasks=None, weights=None, confidence=0.95):
    rows, sides, masses = view(m, in_a, tasks, weights)
    a, b = sides.a.rows, sides.b.rows
    above = rows.below(masses[1])[a] / sides.b.mass
    below = 1 - rows.below(masses[0])[b] / sides.a.mass
    ranks = None
    if weights is None:
        twice = np.rint(2 * rows.below(masses[0] + masses[1])).astype(int) + 1
        ranks = twice[a], twice[b]
    return auc_estimate(above, below, sides, confidence, ranks)


def shifted(n_a=40, n_b=60, by=0.5, seed=0):
    rng = np.random.default_rng(seed)
    in_a = rng.permutation(np.arange(n_a + n_b) < n_a)
    return rng.normal(size=n_a + n_b) + by * in_a, in_a


@settings(max_examples=60, deadline=None)
@given(groups())
def test_auc_is_that_of_scikit_learn(case):
    m, in_a = case
    assert estimate(m, in_a).value == pytest.approx(roc_auc_score(in_a, m))


@settings(max_examples=60, deadline=None)
@given(groups(), st.integers(0, 2**32 - 1))
def test_weighted_auc_is_that_of_scikit_learn(case, seed):
    m, in_a = case
    w = np.random.default_rng(seed).random(len(m)) + 0.1
    found = estimate(m, in_a, weights=w).value
    assert found == pytest.approx(roc_auc_score(in_a, m, sample_weight=w))


@settings(max_examples=60, deadline=None)
@given(groups())
def test_limits_hold_the_count_and_are_never_of_zero_width(case):
    found = estimate(*case)
    if found.estimable:
        assert 0 <= found.low <= found.value <= found.high <= 1
        assert found.high - found.low > 0.01
        assert 0 <= found.p_value <= 1
    else:
        assert found.note and found.p_value is None


@settings(max_examples=40, deadline=None)
@given(groups(least=2, most=10))
def test_small_groups_without_ties_have_scipys_exact_p_value(case):
    m, in_a = case
    m = np.argsort(np.argsort(m)).astype(float)
    wanted = stats.mannwhitneyu(m[in_a], m[~in_a], method="exact").pvalue
    assert estimate(m, in_a).p_value == pytest.approx(wanted)


@settings(max_examples=40, deadline=None)
@given(groups(least=30, most=50))
def test_large_groups_have_scipys_normal_p_value(case):
    m, in_a = case
    if np.ptp(m) == 0:
        return
    wanted = stats.mannwhitneyu(m[in_a], m[~in_a], method="asymptotic").pvalue
    found = estimate(m, in_a)
    if found.estimable:
        assert found.p_value == pytest.approx(wanted)


@pytest.mark.parametrize("seed", range(6))
def test_ties_in_small_groups_are_counted_deal_by_deal(seed):
    rng = np.random.default_rng(seed)
    m, n_a = rng.integers(0, 4, 9).astype(float), int(rng.integers(2, 7))
    twice = np.rint(2 * midranks(m)).astype(int)
    mean = n_a * twice.sum() / 9
    far = abs(twice[:n_a].sum() - mean)
    deals = [
        abs(sum(twice[list(d)]) - mean) for d in itertools.combinations(range(9), n_a)
    ]
    wanted = np.mean([d >= far - 1e-9 for d in deals])
    p, how = mann_whitney(int(twice[:n_a].sum()), twice, n_a)
    assert p == pytest.approx(wanted)
    assert "all permutations" in how


@pytest.mark.parametrize(("few", "n"), [(1, 4), (2, 5), (3, 5), (4, 4)])
def test_all_hands_are_dealt_alike(few, n):
    hands = np.sort(_hands(n, few, np.random.default_rng(few)), axis=0)
    assert hands.shape == (few, DRAWN)
    possible = list(itertools.combinations(range(n), few))
    seen = [int((hand == hands.T).all(axis=1).sum()) for hand in possible]
    assert sum(seen) == DRAWN  # no row twice
    assert stats.chisquare(seen).pvalue > 1e-3 or len(possible) == 1


@pytest.mark.parametrize(("n_a", "n"), [(10, 3000), (25, 100)])
def test_drawn_permutations_are_near_the_counted(n_a, n):
    m, in_a = shifted(n_a, n - n_a, 0.3)
    twice = np.rint(2 * midranks(m)).astype(int)
    total = int(twice[in_a].sum())
    p, how = mann_whitney(total, twice, n_a, seed=1, most_counted=0)
    wanted = stats.mannwhitneyu(m[in_a], m[~in_a], method="asymptotic").pvalue
    assert "random" in how
    assert p == pytest.approx(wanted, abs=0.03)
    assert p == mann_whitney(total, twice, n_a, seed=1, most_counted=0)[0]
    mirrored = mann_whitney(int(twice.sum()) - total, twice, n - n_a, 1, 0)[0]
    assert p == pytest.approx(mirrored)


def test_constant_values_are_no_evidence():
    assert normal_p(80 * 81, np.full(160, 161), 80) == 1.0


def test_the_p_value_of_the_limits_agrees_with_them():
    for auc in (0.5, 0.55, 0.6, 0.65, 0.7):
        a = GroupSpread(0.001, 49.0, 50.0, 50.0)
        b = GroupSpread(0.002, 29.0, 30.0, 30.0)
        p = float(score_p_value(auc, a, b))
        for confidence in (0.8, 0.95, 0.99):
            low, high = score_limits(auc, a, b, confidence)
            assert (p < 1 - confidence) == (not low <= 0.5 <= high)


def test_large_groups_get_the_limits_of_delong():
    m, in_a = shifted(3000, 3000)
    spread, found = auc_spread(m, in_a), estimate(m, in_a)
    low, high = spread.interval(0.95)
    assert (found.low, found.high) == pytest.approx((low, high), abs=2e-4)


def test_many_limits_at_once_are_those_one_by_one():
    rng = np.random.default_rng(0)
    auc, v, n = rng.random(20), 0.01 * rng.random(20), rng.integers(2, 90, 20) + 0.0
    auc[:2] = 0.0, 1.0
    a, b = GroupSpread(v, n - 1, n, n), GroupSpread(v / 2, n, n + 1, n + 1)
    low, high = score_limits(auc, a, b, 0.9)
    for i in range(20):
        one = GroupSpread(v[i], n[i] - 1, n[i], n[i])
        other = GroupSpread(v[i] / 2, n[i], n[i] + 1, n[i] + 1)
        assert score_limits(auc[i], one, other, 0.9) == pytest.approx((low[i], high[i]))
    assert high[1] == 1.0 and low[0] == 0.0
    assert low[1] <= 0.05 ** (1 / n[1]) + 1e-12


def test_more_confidence_and_fewer_rows_are_wider():
    m, in_a = shifted()
    widths = [
        e.high - e.low
        for e in (estimate(m, in_a, confidence=c) for c in (0.8, 0.9, 0.99))
    ]
    assert widths == sorted(widths)
    rows = GroupSpread(0.002, 99.0, 100.0, 100.0)
    alike = over_tasks((rows, rows), (TaskPart(0.01, 9.0, 10.0, 0.5, 10),) * 2)
    apart = over_tasks((rows, rows), (TaskPart(0.002, 9.0, 10.0, 0.0, 10),) * 2)
    assert alike[0].size < apart[0].size <= 100
    single = over_tasks((rows, rows), (TaskPart(0.002, 99.0, 1.0, 1.0, 100),) * 2)
    assert single[0].size == 100


def test_tasks_of_one_group_are_clusters():
    rng = np.random.default_rng(0)
    tasks = np.repeat(np.arange(20), 30)
    in_a = tasks % 2 == 0
    m = rng.normal(size=600) + rng.normal(size=20)[tasks]
    found, naive = estimate(m, in_a, tasks), estimate(m, in_a)
    assert found.value == naive.value
    assert found.high - found.low > 2 * (naive.high - naive.low)
    assert found.p_value > naive.p_value
    assert "over 20 tasks" in found.method


def test_rows_alike_within_tasks_count_once():
    m, in_a = shifted(30, 30)
    once = estimate(m, in_a, np.arange(60))
    thrice = estimate(*(np.repeat(v, 3) for v in (m, in_a, np.arange(60))))
    assert (once.low, once.high) == pytest.approx((thrice.low, thrice.high), abs=0.02)


def test_where_tasks_mix_the_groups_the_wider_limits_count():
    rng = np.random.default_rng(1)
    tasks = np.repeat(np.arange(40), 20)
    in_a = rng.random(800) < 0.5
    bias = rng.normal(size=40)
    m = rng.normal(size=800) + bias[tasks] * in_a  # groups differ by task
    assert "40 tasks" in estimate(m, in_a, tasks).method
    flat = rng.normal(size=800) + 3 * rng.normal(size=40)[tasks]
    by_rows = estimate(flat, in_a)
    found = estimate(flat, in_a, tasks)
    assert found.high - found.low >= by_rows.high - by_rows.low - 1e-12


def test_one_unit_is_not_estimable():
    m, in_a = shifted(1, 20)
    assert "rests on one row only" in estimate(m, in_a).note
    m, in_a = shifted(20, 20)
    found = estimate(m, in_a, in_a.astype(int))
    assert "rests on one task only" in found.note and not found.estimable
    assert "placed differently" in estimate(np.zeros(40), in_a).note


def test_groups_apart_get_wide_limits():
    m = np.r_[np.zeros(20), np.ones(20)] + np.arange(40) * 1e-3
    in_a = np.arange(40) >= 20
    found, mirrored = estimate(m, in_a), estimate(-m, in_a)
    assert (found.value, found.high) == (1.0, 1.0)
    assert found.low <= 0.025 ** (1 / 20) + 1e-12
    assert (mirrored.low, mirrored.high) == pytest.approx((0.0, 1 - found.low))
    assert found.p_value < 1e-9


@settings(max_examples=60, deadline=None)
@given(groups())
def test_means_are_compared_by_welchs_t(case):
    m, in_a = case
    _, sides, _ = view(m, in_a)
    order = Ordered.of(m).order
    found = mean_gap(m[order][sides.a.rows], m[order][sides.b.rows], sides, 0.95)
    assert found.value == pytest.approx(m[in_a].mean() - m[~in_a].mean(), abs=1e-9)
    if found.estimable:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of scipy, where a group is constant
            wanted = stats.ttest_ind(m[in_a], m[~in_a], equal_var=False)
        limits = wanted.confidence_interval(0.95)
        assert found.p_value == pytest.approx(wanted.pvalue, rel=1e-6, abs=1e-12)
        assert found.low == pytest.approx(limits.low, rel=1e-6, abs=1e-9)
        assert found.high == pytest.approx(limits.high, rel=1e-6, abs=1e-9)


def test_means_over_tasks_are_those_of_task_means():
    rng = np.random.default_rng(0)
    tasks = np.repeat(np.arange(12), 5)
    in_a = tasks % 2 == 0
    m = rng.normal(size=60) + rng.normal(size=12)[tasks]
    sides = Sides.of(in_a, ~in_a, ("A", "B"), tasks)
    found = mean_gap(m[in_a], m[~in_a], sides, 0.95)
    means = m.reshape(12, 5).mean(axis=1)
    wanted = stats.ttest_ind(means[::2], means[1::2], equal_var=False)
    assert found.p_value == pytest.approx(wanted.pvalue)
    assert "12 tasks" in found.method


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_means_of_any_size(size):
    m, in_a = shifted()
    sides = Sides.of(in_a, ~in_a, ("A", "B"))
    one = mean_gap(m[in_a], m[~in_a], sides, 0.95)
    found = mean_gap(size * m[in_a], size * m[~in_a], sides, 0.95)
    assert found.low / size == pytest.approx(one.low)
    assert found.p_value == pytest.approx(one.p_value)


# Of 5 and 5 rows that differ in one, scipy counts no exact p and says so: it is 1.
@pytest.mark.filterwarnings("ignore:ks_2samp. Exact calculation unsuccessful")
@settings(max_examples=60, deadline=None)
@given(groups())
@example((np.arange(10) // 9.0, np.arange(10) < 5))
def test_distances_are_those_of_scipy(case):
    m, in_a = case
    rows, sides, masses = view(m, in_a)
    ks, moved = distances(rows, sides, masses, 0.95)
    wanted = stats.ks_2samp(m[in_a], m[~in_a])
    assert ks.value == pytest.approx(wanted.statistic)
    if all(len(set(m[who].tolist())) == 1 for who in (in_a, ~in_a)):
        assert ks.p_value is None and not ks.estimable and not moved.estimable
    else:
        assert ks.p_value == pytest.approx(wanted.pvalue)
    far = stats.wasserstein_distance(m[in_a], m[~in_a])
    assert moved.value == pytest.approx(far, rel=1e-9, abs=1e-9)
    for e in (ks, moved):
        assert not e.estimable or 0 <= e.low <= e.value <= e.high + 1e-12


@settings(max_examples=30, deadline=None)
@given(groups(), st.integers(0, 2**32 - 1))
def test_weighted_distances_are_those_of_scipy(case, seed):
    m, in_a = case
    w = np.random.default_rng(seed).random(len(m)) + 0.1
    ks, moved = distances(*view(m, in_a, weights=w), 0.95)
    far = stats.wasserstein_distance(m[in_a], m[~in_a], w[in_a], w[~in_a])
    assert moved.value == pytest.approx(far, rel=1e-9, abs=1e-9)
    assert not ks.estimable or 0 <= ks.p_value <= 1


@pytest.mark.parametrize("n", [1_500, 60_000])
def test_distances_of_many_rows_have_scipys_p_value(n):
    m, in_a = shifted(n, n, 0.05)
    ks, _ = distances(*view(m, in_a), 0.95)
    wanted = stats.ks_2samp(m[in_a], m[~in_a], method="asymp")
    assert ks.value == pytest.approx(wanted.statistic)
    assert ks.p_value == pytest.approx(wanted.pvalue, rel=0.02)


def test_distances_of_clusters():
    rng = np.random.default_rng(0)
    tasks = np.repeat(np.arange(20), 30)
    in_a = tasks % 2 == 0
    m = rng.normal(size=600) + rng.normal(size=20)[tasks]
    ks, moved = distances(*view(m, in_a, tasks), 0.95)
    naive, _ = distances(*view(m, in_a), 0.95)
    assert ks.value == naive.value and ks.p_value > naive.p_value
    assert ks.high - ks.low > naive.high - naive.low
    assert "tasks" in moved.method
    apart, _ = distances(*view(m + 9 * in_a, in_a, tasks), 0.95)
    assert apart.value == 1.0 and apart.p_value < 0.01
    some = tasks.copy()
    some[:3] = 1  # a task that mixes the groups
    assert "mix the groups" in distances(*view(m, in_a, some), 0.95)[0].note
    lone, _ = distances(*view(m, in_a, in_a.astype(int)), 0.95)
    assert "rests on one task only" in lone.note


def test_distances_hold_in_most_samples():
    held = np.zeros(2)
    truth = 2 * stats.norm.cdf(0.25) - 1, 0.5
    for seed in range(60):
        found = distances(*view(*shifted(80, 80, 0.5, seed)), 0.9)
        held += [e.covers(t) for e, t in zip(found, truth, strict=True)]
    assert (held >= 53).all()


@pytest.mark.parametrize("n", [30, 300])
def test_shares_are_near_those_of_statistics_books(n):
    rng = np.random.default_rng(n)
    in_a = np.arange(2 * n) < n
    chosen = rng.random(2 * n) < np.where(in_a, 0.6, 0.3)
    sides = Sides.of(in_a, ~in_a, ("A", "B"))
    of_a, of_b, ratio = shares_and_ratio(chosen[in_a], chosen[~in_a], sides, 0.95)
    for e, c in ((of_a, chosen[in_a]), (of_b, chosen[~in_a])):
        wilson = stats.binomtest(int(c.sum()), n).proportion_ci(method="wilson")
        assert (e.low, e.high) == pytest.approx((wilson.low, wilson.high), abs=0.01)
    risk = stats.contingency.relative_risk(
        chosen[in_a].sum(), n, chosen[~in_a].sum(), n
    )
    limits = risk.confidence_interval(0.95)
    assert ratio.value == pytest.approx(risk.relative_risk)
    assert (ratio.low, ratio.high) == pytest.approx(tuple(limits), rel=0.1)


def test_shares_at_the_edge():
    in_a = np.arange(20) < 10
    sides = Sides.of(in_a, ~in_a, ("A", "B"))
    none, some, all_ = np.zeros(10, bool), np.arange(10) < 5, np.ones(10, bool)
    of_a, _, ratio = shares_and_ratio(none, some, sides, 0.95)
    assert of_a.low == 0.0 < of_a.high and ratio.value == 0.0 and not ratio.estimable
    assert math.isnan(shares_and_ratio(some, none, sides, 0.95)[2].value)
    assert math.isnan(shares_and_ratio(none, none, sides, 0.95)[2].value)
    same = shares_and_ratio(all_, all_, sides, 0.95)
    assert same[0].low < same[0].high == 1.0 and not same[2].estimable
    alone = Sides.of(in_a[9:], ~in_a[9:], ("A", "B"))
    lost = shares_and_ratio(all_[:1], some, alone, 0.95)
    assert not any(e.estimable for e in lost)


def within(m, in_a, tasks, weights=None):
    rows = Ordered.of(m).by_task(tasks)
    mass = np.ones(len(m)) if weights is None else weights
    codes = tasks[rows.order[rows.segments]]
    order = rows.order
    return WithinTasks.of(rows, codes, (mass * in_a)[order], (mass * ~in_a)[order])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weighted", [False, True])
def test_all_tasks_at_once_are_those_one_by_one(seed, weighted):
    rng = np.random.default_rng(seed)
    n = 300
    m = np.round(rng.normal(size=n), 1 if seed % 2 else 6)
    in_a, tasks = rng.random(n) < 0.4, rng.integers(0, 30, n) * 7
    w = rng.random(n) if weighted else None
    found = within(m, in_a, tasks, w)
    both = [t for t in np.unique(tasks) if len(set(in_a[tasks == t].tolist())) == 2]
    assert found.tasks.tolist() == both
    assert found.n_tasks == len(np.unique(tasks))
    for i, t in enumerate(both):
        here = tasks == t
        own = None if w is None else w[here]
        spread = auc_spread(m[here], in_a[here], weights=own)
        assert found.auc[i] == pytest.approx(spread.auc)
        variance = found.variance_a[i] + found.variance_b[i]
        assert math.sqrt(variance) == pytest.approx(spread.se, abs=1e-9, nan_ok=True)
        assert (found.n_a[i], found.n_b[i]) == (in_a[here].sum(), (~in_a[here]).sum())
        if not weighted:
            a, b = m[here & in_a], m[here & ~in_a]
            wanted = 1.0
            if np.ptp(m[here]) > 0:
                wanted = stats.mannwhitneyu(a, b, method="asymptotic").pvalue
            assert found.normal_p()[i] == pytest.approx(wanted)


def test_more_tasks_than_short_integers():
    rng = np.random.default_rng(0)
    tasks = rng.permutation(np.repeat(np.arange(70_000), 2))
    m, in_a = rng.normal(size=140_000), rng.random(140_000) < 0.5
    found = within(m, in_a, tasks)
    assert found.n_tasks == 70_000
    assert set(found.auc.tolist()) == {0.0, 1.0}


def test_the_pooled_auc_has_van_elterens_weights():
    rng = np.random.default_rng(0)
    tasks, in_a = rng.integers(0, 15, 400), rng.random(400) < 0.5
    m = rng.normal(size=400) + 0.5 * in_a + tasks
    found = within(m, in_a, tasks)
    w = found.n_a * found.n_b / (found.n_a + found.n_b + 1)
    one = pooled(found, 0.95)
    assert one.value == pytest.approx(np.average(found.auc, weights=w))
    assert "15 tasks differ" in one.method and one.low < one.value < one.high
    few = pooled(within(m, in_a, tasks % 3), 0.95)
    assert "taken as given" in few.method and few.low < few.value < few.high


def test_one_task_pooled_is_that_task():
    m, in_a = shifted(200, 200)
    found = pooled(within(m, in_a, np.zeros(400, int)), 0.95)
    whole = estimate(m, in_a)
    assert found.value == pytest.approx(whole.value)
    assert found.low == pytest.approx(whole.low, abs=2e-3)


def test_what_cannot_be_pooled():
    m, in_a = shifted(20, 20)
    assert math.isnan(pooled(within(m, in_a, in_a.astype(int)), 0.95).value)
    flat = pooled(within(np.zeros(40), in_a, np.arange(40) % 2), 0.95)
    assert flat.value == 0.5 and not flat.estimable
    apart = pooled(within(m + 99 * in_a, in_a, np.arange(40) % 2), 0.95)
    assert apart.value == 1.0 and not apart.estimable


def test_few_tasks_with_one_row_of_a_group_are_left_out_of_the_pool():
    m, in_a = shifted(60, 60)
    tasks = np.arange(120) % 3
    lone = np.r_[m, 5.0, 0.0], np.r_[in_a, True, False], np.r_[tasks, 9, 9]
    found, wanted = pooled(within(*lone), 0.95), pooled(within(m, in_a, tasks), 0.95)
    assert (found.value, found.low) == pytest.approx((wanted.value, wanted.low))
    assert "1 tasks with one row" in found.note


def test_weights_that_rest_on_one_row():
    m, in_a = shifted(20, 20)
    w = np.r_[1e12, np.full(39, 1.0)]
    found = estimate(m, in_a, weights=w)
    assert "rests on one row" in found.note
    sides = Sides.of(in_a, ~in_a, ("A", "B"), weights=w)
    assert "rests on" in mean_gap(m[in_a], m[~in_a], sides, 0.95).note
    counted = within(m, in_a, np.arange(40) % 2, w)
    assert "one row of a group are left out" in pooled(counted, 0.95).note
    lines = task_estimates(counted, 0.95, 2, ("A", "B"), None)
    assert "no spread" in lines[0].note and lines[1].estimable
    assert not pooled(within(m, in_a, np.zeros(40, int), w), 0.95).estimable
    heavy = within(m, in_a, np.arange(40) % 12, np.where(np.arange(40) % 12, 1e-9, w))
    assert not pooled(heavy, 0.95).estimable


def test_pooled_limits_hold_in_most_samples():
    held = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        tasks, in_a = rng.integers(0, 30, 600), rng.random(600) < 0.4
        m = rng.normal(size=600) + 0.5 * in_a + 2 * rng.normal(size=30)[tasks]
        truth = stats.norm.cdf(0.5 / math.sqrt(2))
        held += pooled(within(m, in_a, tasks), 0.9).covers(truth)
    assert 82 <= held <= 98


def test_tasks_run_out_of_time_and_fall_back(monkeypatch):
    rng = np.random.default_rng(0)
    tasks, in_a = rng.integers(0, 5, 100), rng.random(100) < 0.5
    found = within(rng.integers(0, 9, 100).astype(float), in_a, tasks)
    monkeypatch.setattr("rankfair.stats.within_tasks.MOST_IN_ALL", 0.0)
    lines = task_estimates(found, 0.95, 2, ("A", "B"), lambda i: (None, 0))
    assert all("for want of time" in line.method for line in lines)


def test_benjamini_and_hochberg():
    assert adjusted([None, None]) == [None, None]
    found = adjusted([0.01, None, 0.04, 0.9])
    assert found[1] is None
    assert [found[i] for i in (0, 2, 3)] == pytest.approx([0.03, 0.06, 0.9])


@pytest.mark.parametrize("size", [1e-170, 1e-100, 1e100, 1e170])
def test_differences_of_any_size_have_degrees_of_freedom(size):
    m, in_a = shifted()
    sides = Sides.of(in_a, ~in_a, ("A", "B"))

    def degrees(values):
        a, b = Part.of_rows(values[in_a]), Part.of_rows(values[~in_a])
        return welch_degrees(a, b, 0.0)

    if 1e-150 < size < 1e150:  # else the variance itself is lost
        assert degrees(size * m) == pytest.approx(degrees(m))
    found = mean_gap(size * m[in_a], size * m[~in_a], sides, 0.95)
    one = mean_gap(m[in_a], m[~in_a], sides, 0.95)
    assert found.p_value == pytest.approx(one.p_value)


def test_an_estimate_is_short_whatever_its_size():
    from rankfair.stats import Estimate

    for scale in (1e-100, 1e-5, 1.0, 1e5, 1e100):
        made = Estimate(scale, 0.9 * scale, 1.1 * scale)
        assert len(str(made)) < 50
        assert float(str(made).partition(" ")[0]) == pytest.approx(scale)
    assert str(Estimate(0.0, -0.5, 0.25)) == "0.000 (-0.500 to 0.250)"
