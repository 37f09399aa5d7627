"""Gaps in units, their parts and their price, through `audit`."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.stats import mannwhitneyu

from audited import sample
from rankfair import audit


def payroll(n=600, seed=0):
    """Pay that years explain in part; women have fewer of them."""
    rng = np.random.default_rng(seed)
    sex = np.where(rng.random(n) < 0.4, "f", "m")
    years = rng.uniform(0, 20, n) - 3 * (sex == "f") + 5
    job = rng.integers(0, 3, n)
    pay = 100 + 4 * years + 10 * job - 5 * (sex == "f") + rng.normal(0, 6, n)
    return pay, sex, years, job


def test_gaps_are_those_of_means_and_medians():
    pay, sex, _, job = payroll()
    found = audit({"pay": pay}, pay + 1.0, sensitive_features=sex, tasks=job)
    frame = pd.DataFrame({"pay": pay, "sex": sex, "job": job})
    assert [gap.task for gap in found.units] == [None, "0", "1", "2"]
    for gap in found.units:
        rows = frame if gap.task is None else frame[frame.job == int(gap.task)]
        mean, median = rows.groupby("sex").pay.mean(), rows.groupby("sex").pay.median()
        assert gap.of == "pay" and (gap.group, gap.against) == ("f", "m")
        for own, name in ((mean, "mean"), (median, "median")):
            assert getattr(gap, f"{name}_gap").value == pytest.approx(own.f - own.m)
            share = getattr(gap, f"{name}_gap_share").value
            assert share == pytest.approx(own.f / own.m - 1)
    frame = found.units_frame()
    assert len(frame) == 4 and "mean_gap_share_ci_low" in frame.columns
    # The larger group is the reference, of equal ones the first.
    for labels, reference in (("bbbbbaaaa", "b"), ("bbbbaaaa", "a")):
        y = np.arange(float(len(labels)))
        found = audit(None, y, sensitive_features=list(labels))
        assert found.sensitive_features[0].reference == reference
        assert found.comparisons[0].against == reference


def test_gaps_are_with_the_reference_else_with_the_rest():
    tasks, g = np.repeat(np.arange(160), 10), np.tile([*"ABCDE"], 320)
    y = np.random.default_rng(0).normal(9, 1, 1600)
    found = audit(None, y, sensitive_features=g, tasks=tasks, reference="B")
    pairs = {(gap.group, gap.against) for gap in found.units}
    assert pairs == {(group, "B") for group in "ACDE"}
    # So many gaps by task are measured in all, of the 160 tasks as many for each pair.
    assert sum(gap.task is not None for gap in found.units) == 600
    many = audit(None, y, sensitive_features=(np.arange(1600) % 25).astype(str))
    assert {gap.against for gap in many.units} == {"the rest"}


def test_parts_add_up_and_name_what_is_collinear():
    pay, sex, years, job = payroll()
    controls = pd.DataFrame(
        {"years": years, "job": job.astype(str), "twice": 2 * years}
    )
    found = audit(pay, pay, sensitive_features=sex, controls=controls)
    (parts,) = found.parts
    assert parts.controls == ("years", "job", "twice") and parts.dropped == ("twice",)
    whole = sum(e.value for e in parts.by_control.values())
    assert whole == pytest.approx(parts.explained.value)
    assert parts.gap.value == pytest.approx(
        parts.explained.value + parts.unexplained.value
    )
    mean = pay[sex == "m"].mean()
    for part in ("explained", "unexplained"):
        share, whole = getattr(parts, f"{part}_share"), getattr(parts, part)
        assert share.value == pytest.approx(whole.value / mean)
        assert parts.share(whole) == pytest.approx(share.value)
    # Controls that say nothing leave the whole gap.
    none = audit(pay, pay, sensitive_features=sex, controls={"one": np.ones(len(pay))})
    (left,) = none.parts
    for end in ("value", "ci_low", "ci_high"):
        for name in ("mean_gap", "mean_gap_share"):
            wanted = getattr(getattr(none.units[0], name), end)
            ours = getattr(left, name.replace("mean_gap", "unexplained"))
            assert getattr(ours, end) == pytest.approx(wanted, rel=1e-3)
    for auc in (left.residual_auc, left.stratified_auc):
        assert auc.value == pytest.approx(found.comparisons[0].auc.value)


def test_logarithms_and_strata_are_those_of_statsmodels_and_scipy():
    pay, sex, years, _ = payroll()
    woman, design = sex == "f", sm.add_constant(years)
    given = {"sensitive_features": sex, "controls": {"years": years}}
    (parts,) = audit(pay, pay, **given).parts
    logs = sm.OLS(np.log(pay), np.column_stack([design, woman])).fit(cov_type="HC3")
    b, se = logs.params[2], logs.bse[2]
    found = parts.unexplained_log
    assert found.value == pytest.approx(np.expm1(b - se**2 / 2), rel=1e-3)
    ends = np.expm1([b - 1.96 * se, b + 1.96 * se])
    assert (found.ci_low, found.ci_high) == pytest.approx(ends, rel=0.01)
    score = sm.Logit(woman, design).fit(disp=False).predict()
    aucs, variances, weights = [], [], []
    for stratum in np.split(np.argsort(score), 5):
        a, b = pay[stratum][woman[stratum]], pay[stratum][~woman[stratum]]
        aucs.append(mannwhitneyu(a, b).statistic / (len(a) * len(b)))
        beats = a[:, None] > b
        spread = [
            np.var(beats.mean(axis=i), ddof=1) / len(g) for i, g in ((1, a), (0, b))
        ]
        variances.append(sum(spread))
        weights.append(len(a) * len(b) / (len(a) + len(b) + 1))
    found, share = parts.stratified_auc, np.array(weights) / sum(weights)
    assert found.value == pytest.approx(share @ aucs, abs=1e-9)
    half = 1.96 * np.sqrt(share**2 @ variances)
    assert found.ci_high - found.ci_low == pytest.approx(2 * half, rel=0.02)
    assert "rows within 5 strata" in found.method
    (low,) = audit(pay - 200, pay - 200, **given).parts
    assert not low.unexplained_log.estimable and low.stratified_auc == found
    # Where tasks are of one group each, rows do not say how strata differ.
    (apart,) = audit(pay, pay, tasks=np.char.add(sex, "1"), **given).parts
    assert apart.stratified_auc.value == found.value
    assert not apart.stratified_auc.estimable


@pytest.mark.parametrize("n", [4, 5])
def test_a_group_of_few_rows_has_no_parts(n):
    pay, _, years, _ = payroll(60)
    few = np.where(np.arange(60) < n, "f", "m")
    found = audit(pay, pay, sensitive_features=few, controls={"years": years})
    assert len(found.parts) == len(found.remedies) == (n == 5)


def test_controls_that_explain_all_leave_no_gap_in_ranks():
    rng = np.random.default_rng(0)
    level = rng.integers(0, 5, 3000)
    sex = np.where(rng.random(3000) < 0.2 + 0.12 * level, "f", "m")
    pay = 50 + 10 * level + rng.normal(size=3000)
    found = audit(
        None, pay, sensitive_features=sex, controls={"level": level.astype(str)}
    )
    assert abs(found.comparisons[0].auc.value - 0.5) > 0.1
    (parts,) = found.parts
    assert parts.unexplained.covers(0) and parts.explained.ci_low > 0
    assert parts.residual_auc.covers(0.5) and parts.stratified_auc.covers(0.5)


def test_a_gap_of_0_is_shown(tmp_path):
    pay, sex = np.repeat([3.0, 1.0, 4.0, 6.0] * 5, 2), np.tile(["f", "m"], 20)
    found = audit(
        pay,
        pay,
        sensitive_features=sex,
        controls={"years": np.repeat(np.arange(20), 2)},
        layout="pay-transparency",
    )
    (parts,) = found.parts
    assert parts.share(parts.gap) == parts.share(parts.unexplained) == 0.0
    assert parts.mean_against == pytest.approx(3.5)
    page = found.to_html(tmp_path / "a.html").read_text("utf-8")
    assert "Unexplained" in page and ">nan" not in page


def test_raises_bring_the_gap_to_what_is_asked():
    pay, sex, years, job = payroll()
    given = {"sensitive_features": sex, "tasks": job, "controls": {"years": years}}
    found = audit(pay, pay, close_to=0.01, **given)
    to_zero, to_one = found.remedies
    assert (to_zero.close_to, to_one.close_to) == (0.0, 0.01)
    assert to_zero.total > to_one.total > 0
    for remedy in found.remedies:
        raised = pay.copy()
        raised[list(remedy.rows)] += remedy.raises
        again = audit(raised, raised, **given).parts[0]
        mean = pay[sex == "m"].mean()
        left = -again.unexplained.value / mean
        assert left == pytest.approx(remedy.close_to, abs=1e-9)
        assert remedy.share == pytest.approx(remedy.total / pay.sum())
        assert remedy.left == pytest.approx(-remedy.close_to, abs=1e-9)
        raises = pd.Series(remedy.raises).groupby(job[list(remedy.rows)])
        by_task = {t.task: (t.n_raised, t.total) for t in remedy.by_task}
        wanted = {str(task): (len(own), own.sum()) for task, own in raises}
        assert by_task == {task: pytest.approx(own) for task, own in wanted.items()}
    other = audit(pay / 1e6, pay / 1e6, **given).remedies[0]  # in another unit
    assert other.total == pytest.approx(to_zero.total / 1e6)
    assert "raises" not in found.to_dict()["remedies"][0]
    assert (to_zero.raised, to_one.raised) == ("f", "f")
    frame = found.raises_frame()
    assert set(frame["raised"]) == {"f"}  # whichever group is named first
    turned = audit(pay, pay, close_to=0.01, reference="f", **given).remedies
    assert [(it.group, it.raised) for it in turned] == [("m", "f")] * 2
    rows = [row + 1 for row in (*to_zero.rows, *to_one.rows)]
    assert frame["row"].tolist() == rows


def test_bands_hold_a_quarter_each():
    pay, sex, _, _ = payroll(400)
    found = audit(None, pay, sensitive_features=sex, layout="pay-transparency")
    (bands,) = found.bands
    assert [band.n_rows for band in bands.bands] == [100] * 4
    lows = [band.low for band in bands.bands]
    assert lows == sorted(lows) and bands.bands[0].low == pay.min()
    top = np.sort(pay)[-100:]
    share = np.isin(pay, top)[sex == "f"].sum() / 100
    assert bands.bands[3].shares["f"] == pytest.approx(share)


def test_a_reversal_goes_beyond_intervals():
    _, p, g, t = sample(n=2000, tasks=2)
    same = audit(None, p, sensitive_features=g, tasks=t, reference="F")
    assert same.comparisons[0].reversal == "" and "Warning" not in same.verdict
    rng = np.random.default_rng(0)
    g = np.where(rng.random(2000) < np.where(t, 0.8, 0.2), "F", "M")
    p = 3.0 * t - 1.0 * (g == "F") + rng.normal(size=2000)
    turned = audit(None, p, sensitive_features=g, tasks=t)
    assert turned.comparisons[0].reversal == "sign"
    assert turned.verdict.startswith("Warning: within tasks the gap is reversed")
    p = 2.0 * t - 2.0 * (g == "F") + rng.normal(size=2000)
    larger = audit(None, p, sensitive_features=g, tasks=t)
    assert larger.comparisons[0].reversal
    assert larger.task_gap() > larger.gap
    assert larger.task_gate(0.1).exit_code == 1
    assert audit(None, p, sensitive_features=g).task_gate(0.1).exit_code == 3


@pytest.mark.parametrize("power", [-290, 290])
def test_values_of_any_size_have_their_gaps(power):
    pay, sex, years, _ = payroll()
    given = {"sensitive_features": sex, "controls": {"years": years}}
    small, large = (audit(None, y, **given) for y in (pay, pay * 10.0**power))
    for name in ("mean_gap_share", "median_gap_share"):
        one, other = (getattr(each.units[0], name) for each in (small, large))
        assert (other.value, other.ci_low) == pytest.approx((one.value, one.ci_low))
    one, other = (each.units[0].median_gap for each in (small, large))
    assert other.ci_low / 10.0**power == pytest.approx(one.ci_low)
    one, other = (each.parts[0] for each in (small, large))
    for name in ("unexplained_share", "unexplained_log", "stratified_auc"):
        wanted = getattr(one, name)
        assert getattr(other, name).value == pytest.approx(wanted.value)
        assert getattr(other, name).ci_low == pytest.approx(wanted.ci_low)
    # Groups whose ratio is no number of double precision.
    far = pay * 10.0 ** np.where(sex == "f", 200.0, -200.0)
    (gap,) = audit(None, far, sensitive_features=sex).units
    assert not gap.median_gap_share.estimable
