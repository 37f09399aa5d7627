"""Pages as HTML: sound, with a strict policy, and with every figure or its reason."""

import base64
import hashlib
import itertools
import json
import math
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import null_space

import audits
from rankfair import audit as audited
from rankfair.report import page as assembly
from rankfair.report.audit_page import render, render_fragment, view
from rankfair.report.methods_page import MethodLine, MethodTable, render_comparison
from rankfair.report.privacy import spread, without_small
from rankfair.report.tasks import GRAIN, forest
from rankfair.report.text import shown
from rankfair.report.words import METRICS

VOID = {"meta", "input", "br"}
MADE = audits.make_audit().provenance


class Reader(HTMLParser):
    """Read tags, attributes and texts; tags must be closed in order."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts, self.open = [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]

    def text(self, tag):
        return "".join(data for name, data in self.texts if name == tag)


@pytest.fixture(params=audits.AUDITS)
def audit(request):
    return audits.make_audit(**audits.AUDITS[request.param])


def section(audit, name, **settings):
    """Return a section of the page as its template reads it."""
    sections = view(audit, **settings)["sections"]
    return next(s for s in sections if s["id"].startswith(name))


def test_the_page_is_sound_and_allows_only_its_own_style_and_script(audit):
    html = render(audit)
    page = Reader(html)
    for _, attributes in page.tags:
        assert not {"style", "src"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]
        assert attributes.get("href", "#").startswith("#")
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = {a["href"][1:] for a in page.all("a")}
    named_by = " ".join(a.get("aria-labelledby", "") for _, a in page.tags).split()
    assert links | set(named_by) <= set(ids)
    (policy,) = [a["content"] for a in page.all("meta") if "http-equiv" in a]
    for tag in ("style", "script"):
        inside = re.search(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy
    kinds = [script.get("type") for script in page.all("script")]
    assert kinds == (["application/json", None] if audit.tasks else [None])


def test_hostile_names_are_whole_in_the_text():
    html = render(audits.make_audit(**audits.AUDITS["hostile"]))
    page = Reader(html)
    assert all(shown(name) in page.text("bdi") for name in audits.HOSTILE)
    assert page.text("h1") == page.text("code") == shown(" ".join(audits.HOSTILE))
    html.encode()
    named = assembly.named("{group}/{against}", "{against}", "b")
    assert str(named) == "<bdi>{against}</bdi>/<bdi>b</bdi>"


def test_every_figure_has_its_interval_or_says_why_not():
    audit = audits.make_audit(models=("m",), target=False)
    # The page says of a known target why its errors are not there.
    known = audits.make_audit(models=("m",)).sensitive_features
    lost = replace(audit.comparisons[0], ks=audits.unknown(""))
    audit = replace(audit, sensitive_features=known, comparisons=(lost,))
    figures = render(audit).partition('id="figures"')[2].partition('id="method"')[0]
    assert figures.count("y_true was not given") == 1 + 3  # residuals, and errors
    assert figures.count("not estimable") == 1
    known = len(METRICS) - 3  # nor has the AUC between tasks one
    assert figures.count('class="interval"') == known


def test_the_page_says_what_is_missing_and_where_it_comes_from(tmp_path):
    audit = audits.make_audit()
    odd = {"n_missing": 1234, "constant_in_tasks": True, "note": "Odd."}
    feature = replace(audit.sensitive_features[0], **odd)
    made = replace(MADE, notes=("Left out: 3 rows.",), n_tasks=1)
    seen = replace(audit, sensitive_features=(feature,), provenance=made, min_group=1)
    path = seen.to_html(tmp_path / "page.html", command="make audit")
    page = Reader(path.read_text(encoding="utf-8"))
    for sentence in (
        "1,234 rows have no value of",
        "Every task has rows of one group only.",
        "Odd.",
    ):
        assert sentence in page.text("p")
    assert "Left out: 3 rows." in page.text("li")
    for fact in ("1,800 rows", "1,234 rows without sex", "1 task"):
        assert ("span", fact) in page.texts
    for part in (MADE.fingerprint, MADE.created, "numpy 2.1.0", "1 row"):
        assert part in page.text("dd")
    assert page.text("code") == "make audit"
    bare = replace(MADE, command=None, seed=None, fingerprint="", n_tasks=0)
    page = Reader(render(replace(audit, provenance=bare)))
    assert "Seed" not in page.text("dt") and not page.all("pre")
    assert not {("span", "0 tasks"), ("span", "1 task")} & set(page.texts)


def test_of_many_groups_the_largest_gaps_are_shown():
    groups = tuple(f"group {i}" for i in range(12))
    html = render(audits.make_audit(attributes=(("race", groups),)))
    assert "The 24 largest rank gaps of 78 comparisons" in html
    assert html.count("<details") == 24 and html.count("<details open") < 4


def test_a_column_audited_by_itself_is_called_by_its_name_and_has_no_errors():
    alone = render(audits.make_audit(**audits.AUDITS["nothing but predictions"]))
    both = render(audits.make_audit())
    assert "Audit of <bdi>m</bdi>" in alone and "<bdi>m</bdi> by <bdi>" in alone
    words = "Mean of the target", "<caption>Errors", "Mean predicted", "residuals"
    for word in words:
        assert word not in alone and word in both


def test_a_notebook_gets_a_closed_frame(audit):
    assert audit._repr_html_() == render_fragment(audit)
    fragment = Reader(render_fragment(audit))
    assert not fragment.all("script") and not fragment.all("style")
    (frame,) = fragment.all("iframe")
    assert frame["sandbox"] == "allow-scripts"
    assert frame["srcdoc"].startswith("<!doctype html>")
    assert len(fragment.all("tr")) == 1 + len(audit.comparisons)


def test_without_jinja_the_message_says_how_to_get_it(monkeypatch):
    assembly.environment.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r'pip install "rankfair\[cli\]"'):
        render(audits.make_audit())


def test_every_task_comes_back_the_worst_first():
    audit = audits.make_audit(n_tasks=30)
    data = json.loads(forest(audit)["json"])
    (one,) = data["sets"]
    for line in audit.tasks:
        i = one["task"].index(line.task)
        by = one["by"][data["models"].index(line.model)]
        for key, value in (("auc", line.auc.value), ("low", line.auc.ci_low)):
            if math.isnan(value):
                assert by[key][i] is None
            else:
                assert by[key][i] == pytest.approx(GRAIN * value, abs=1)
        assert by["flag"][i] == str(int(line.flagged))
        if line.adjusted_p is None:
            assert by["p"][i] is None
        else:
            assert by["p"][i] == pytest.approx(line.adjusted_p, rel=0.01)
        assert data["notes"][by["note"][i]] == line.auc.note
        assert (one["a"][i], one["b"][i]) == (line.n_group, line.n_against)
    gaps = [
        ("1" in flags, max(abs(auc - GRAIN / 2) for auc in aucs))
        for flags, aucs in zip(
            zip(*(by["flag"] for by in one["by"]), strict=True),
            zip(*(by["auc"] for by in one["by"]), strict=True),
            strict=True,
        )
    ]
    assert gaps == sorted(gaps, reverse=True) and len(set(gaps)) > 5


def test_too_many_tasks_are_cut_from_the_end():
    audit = audits.make_audit(n_tasks=200, models=("m",))
    every, found = forest(audit), forest(audit, 50)
    assert found["trimmed"] and not every["trimmed"]
    kept, known = (json.loads(it["json"])["sets"][0]["task"] for it in (found, every))
    assert len(known) == 200 and kept == known[:50]
    values = {**view(audit), "sections": [found | {"id": "tasks"}]}
    assert "The page holds 50 of 200 lines" in assembly.fill("audit.html.j2", values)
    assert forest(audits.make_audit(n_tasks=0)) is None


RNG = np.random.default_rng(0)
N = 120
Y = np.exp(RNG.normal(size=N)) + 1.0
SEX = np.array(["F", "M"] * (N // 2))
TASKS = np.repeat([f"job {i}" for i in range(6)], N // 6)
INPUTS = {
    "one group a task": {"tasks": np.where(SEX == "F", "x", "y")},
    "every row a task": {"tasks": np.arange(N)},
    "missing groups": {
        "sensitive_features": np.where(np.arange(N) % 7, SEX, None).astype(object)
    },
    "a group of one row": {"sensitive_features": np.array(["M"] + ["F"] * (N - 1))},
    "constant": {"y_pred": np.full(N, 3.0)},
    "huge": {"y_pred": Y * 1e60, "y_true": Y * 1e60},
    "tiny": {"y_pred": -Y * 1e-60, "y_true": -Y * 1e-60},
    "skewed": {"y_pred": np.where(np.arange(N) == 0, 1e9, Y)},
}


@pytest.mark.parametrize("name", INPUTS)
def test_whatever_was_audited_can_be_shown(name):
    given = {
        "y_true": Y,
        "y_pred": Y,
        "sensitive_features": SEX,
        "tasks": TASKS,
        **INPUTS[name],
    }
    found = audited(given.pop("y_true"), given.pop("y_pred"), **given)
    for suppress in (1, 5):
        html = render(found, suppress=suppress)
        assert ">nan" not in html and "None" not in html
        assert found.provenance.fingerprint in html
    assert found.title in render_fragment(found)


def pay_audit(**more):
    """An audit of pay in which women are paid less in four jobs, with two controls."""
    rng = np.random.default_rng(1)
    sex = np.where(rng.random(400) < 0.5, "F", "M")
    job = np.array([f"job {i}" for i in rng.integers(0, 4, 400)])
    years = rng.uniform(0, 20, 400) + 3 * (sex == "M")
    pay = 30_000 + 900 * years - 4000 * (sex == "F") + rng.normal(0, 3000, 400)
    pay[job == "job 3"] += 60_000 * (sex[job == "job 3"] == "F")
    given = {"controls": {"years": years, "job": job}, "close_to": 0.01} | more
    return audited(None, pay, sensitive_features={"sex": sex}, tasks=job, **given)


def test_gaps_in_units_are_shown_with_their_parts_and_their_price():
    found = pay_audit(layout="pay-transparency", complementary=np.arange(400.0))
    gap, parts = section(found, "gap"), section(found, "parts")
    assert [line["gap"].task for line in gap["lines"]][:2] == [None, "job 3"]
    texts = [line["mean"]["text"] for line in gap["lines"]]
    of_pay = [unit for unit in found.units if unit.of == gap["of"]]
    assert len(of_pay) == len(found.units) / 2  # the others are of complementary pay
    units = {unit.task: unit.mean_gap_share.value for unit in of_pay}
    wanted = [f"{100 * units[line['gap'].task]:.1f}\u00a0%" for line in gap["lines"]]
    assert [text.replace("−", "-") for text in texts] == wanted
    assert len(gap["law"]) == 2 and gap["law"][0] < gap["zero"] < gap["law"][1]
    amounts = [line["units"] for line in gap["lines"]]
    for row in parts["parts"]["rows"]:
        amounts += [row["cell"]["text"], *row["cell"]["interval"].split(" to ")]
    split = len(gap["lines"])
    for alike in (amounts[:split], amounts[split:]):
        assert len({len(number.partition(".")[2]) for number in alike}) == 1
    unsure = [unit.mean_gap_share.p_value > 0.05 for unit in of_pay]
    notes = [line["mean"]["note"] for line in gap["lines"]]
    assert sum(unsure) == sum("would have been found" in note for note in notes)
    (known,) = found.parts
    bars = {row["name"]: row["bar"]["width"] for row in parts["parts"]["rows"]}
    for name, e in (
        ("Explained by the controls", known.explained),
        ("The whole gap", known.gap),
    ):
        wanted = abs(e.value / known.unexplained.value)
        assert bars[name] / bars["Unexplained"] == pytest.approx(wanted, rel=0.05)
    first = found.remedies[0]
    for *_, bars in section(found, "bands")["rows"]:
        assert sum(bar["width"] for bar in bars) == pytest.approx(280, abs=0.02)
    html = render(found)
    assert "joint pay assessment" in html and "compliant" not in html
    low, high = found.bands[0].bands[0].low, found.bands[0].bands[-1].high
    assert f"{low:,.0f}" not in html and f"{high:,.0f}" not in html
    share = f"{100 * abs(known.share(known.unexplained)):.1f}\u00a0% ("
    side = "below" if known.unexplained.value < 0 else "above"
    assert f"With the same years, job, {known.group} is {share}" in html
    for e in (known.unexplained_share, known.unexplained_log):
        ends = [f"{100 * v:.1f}\u00a0%" for v in (e.ci_low, e.ci_high)]
        assert " to ".join(ends).replace("-", "−") in html
    assert f"{known.stratified_auc.value:.3f}" in html
    table = html[html.index("Raises by task") :]
    largest = max(first.by_task, key=lambda raised: raised.total)
    cells = re.findall(r"<t[hd][^>]*>(?:<bdi>)?([^<]+)<", table)[3:6]
    assert cells[:2] == [largest.task, str(largest.n_raised)]
    assert cells[2].replace(",", "").startswith(str(int(largest.total)))
    raised = (
        f"Closing it takes raises for {first.n_raised} rows in group {first.raised}"
    )
    assert f") {side} {known.against}. {raised}" in html
    lone = replace(known, unexplained=replace(known.unexplained, p_value=None))
    assert ", which may be chance." in render(replace(found, parts=(lone,)))
    free = pay_audit(controls=None, close_to=0.5)
    assert section(free, "parts")["name"] == "Closing the gap"


def test_what_is_left_is_said_of_the_gap_in_the_headline():
    group, years = np.array([*"ABC"] * 60), RNG.normal(size=180)
    pay = 100 + years + RNG.normal(size=180) - 9 * (group == "C")
    found = audited(
        None, pay, sensitive_features=group, controls={"years": years}, reference="A"
    )
    short = view(found)["short"]
    assert "With the same years, C is" in short and "rows in group C:" in short


def test_small_groups_and_tasks_and_the_next_smallest_are_not_shown():
    sex = np.array(["F", "M"] * 100)
    job = np.array(["cook"] * 90 + ["nurse"] * 71 + ["clerk"] * 31 + ["chief"] * 8)
    race = np.array(["a", "b"] * 80 + ["Inuit"] * 37 + ["Sami"] * 3)
    features = {"sex": sex, "race": race}
    pay = RNG.normal(100, 9, 200)
    found = audited(None, pay, sensitive_features=features, tasks=job)
    html, whole = render(found), render(found, suppress=1)
    for name in ("chief", "clerk", "Inuit", "Sami"):
        assert name in whole and name not in html
    for name in ("cook", "nurse", ">a<", ">b<", ">F<"):
        assert name in html
    note = "Not shown, so that nobody can be recognised: 2 groups and"
    assert note in html and note not in whole
    assert {line.task for line in found.tasks} >= {"chief", "clerk"}  # gates see them
    # Nor are raises in a task where few are raised and nobody else is.
    job = np.where((np.arange(200) < 6) & (sex == "F"), "maid", "cook")
    own = audited(
        None, pay - 20 * (sex == "F"), sensitive_features=sex, tasks=job, close_to=0
    )
    assert {raised.task for raised in own.remedies[0].by_task} == {"cook", "maid"}
    assert "maid" in render(own, suppress=1) and "maid" not in render(own)
    assert "cannot be estimated" in render(
        audited(None, pay[:9], sensitive_features=sex[:9])
    )


# Rows of each group in each task: a task of one group, which has no gap of its own; a
# task that is hidden of some pairs; rows of one that every other group tells; hidden
# groups; what happens.
SPREAD = (
    [[40, 30, 3], [40, 30, 0]],
    [[50, 3, 20, 20], [50, 30, 6, 30], [50, 30, 30, 6]],
    [[0, 14], [6, 5], [1, 6]],
    [[90, 30], [80, 30], [3, 0], [2, 30]],
    *(np.random.default_rng(n).choice([0, 2, 4, 6, 9, 30], (n, 4)) for n in (2, 3, 4)),
    *np.random.default_rng(0).choice([0, 2, 6, 30, 30, 30], (20, 3, 6)),
)


@pytest.mark.parametrize("n", SPREAD)
@pytest.mark.parametrize("reference", [None, "A"])
def test_nothing_that_is_shown_tells_the_rows_of_a_small_group_in_a_task(n, reference):
    n = np.array(n)
    group, task = np.unravel_index(np.repeat(np.arange(n.size), n.ravel()), n.shape)
    groups, tasks = np.array([*"ABCD"]), np.array([*"uvwxyz"])
    given = {"sensitive_features": groups[group], "tasks": tasks[task]}
    pay = RNG.normal(100, 9, len(group))
    page, _ = without_small(audited(None, pay, **given, reference=reference), 5)
    lines = [*page.tasks, *page.units, *page.comparisons]

    def cells(name, other, where):
        """The cells of the table whose sum is shown."""
        whose = groups != other if name == "the rest" else groups == name
        at = np.ones(len(tasks), bool) if where is None else tasks == where
        return np.outer(whose, at)[: len(n), : n.shape[1]]

    shown = [np.ones(n.shape, bool)]
    shown += [cells(g.label, "", None) for g in page.sensitive_features[0].groups]
    for line in lines:
        where = getattr(line, "task", None)
        shown += [cells(line.group, line.against, where)]
        assert line.n_group == n[shown[-1]].sum()
        shown += [cells(line.against, line.group, where)]
        assert line.n_against == n[shown[-1]].sum()
    # A sum of cells is known if it is a combination of those shown.
    free = null_space(np.reshape(shown, (len(shown), -1)).astype(float))
    unknown = (abs(free) > 1e-9).any(axis=1).reshape(n.shape)
    assert not (~unknown & (n > 0) & (n < 5)).any()
    for own, hidden, among in zip(n, unknown, free.reshape(*n.shape, -1), strict=True):
        known = (abs(among[hidden].sum(axis=0)) < 1e-9).all()
        assert not known or own[hidden].sum() == 0 or own[hidden].sum() >= 5


def test_jobs_of_few_rows_that_are_enough_together_hide_no_other():
    jobs = np.repeat(["cook", "clerk", "chief", "maid"], [80, 40, 6, 6])
    pay, sex = RNG.normal(size=132), [*"FM"] * 66
    page, _ = without_small(audited(None, pay, sensitive_features=sex, tasks=jobs), 5)
    assert {gap.task for gap in page.units} == {None, "cook", "clerk"}


@given(st.lists(st.integers(0, 6), min_size=1, max_size=30))
def test_no_picture_shows_the_place_of_a_few_rows(counts):
    found = spread(counts, 5)
    assert sum(found) == pytest.approx(sum(counts)) and len(found) == len(counts)
    runs = [[*run] for level, run in itertools.groupby(found) if level]
    assert all(sum(run) > 4.99 for run in runs) or sum(counts) < 5
    assert spread([c / 9 for c in counts], 0.5 / 9) == [c / 9 for c in counts]


def unknown(name, groups=""):
    return MethodLine(name, audits.unknown(), groups=groups)


def test_methods_stand_side_by_side():
    lines = (
        audits.method("unconstrained", 500.0, 0.2),
        audits.method("</script>", 700.0, 0.01, chosen=True, note="needs the group"),
        unknown("lost"),
    )
    table = MethodTable(lines, MADE, "Two of three.", notes=("Why.",))
    read = replace(MADE, notes=("3 rows are left out.",))
    page = Reader(render_comparison(replace(table, provenance=read)))
    assert "3 rows are left out." in page.text("li")
    assert len(page.all("circle")) == 2
    names = [name for tag, name in page.texts if tag == "bdi"]
    assert names == ["unconstrained", "</script>", "lost"]
    assert "Why." in page.text("p") and "Two of three." in page.text("p")
    assert not Reader(render_comparison(MethodTable(lines[2:], MADE))).all("circle")
    same = [unknown(n, groups=g) for n, g in (("a", "m <v> f"), ("b", ""))]
    page = render_comparison(MethodTable(tuple(same), MADE))
    assert page.count("m &lt;v&gt; f") == 1 and ", with 95" in page
    page = render_comparison(MethodTable((*same, unknown("c", groups="x v m")), MADE))
    assert page.count("m &lt;v&gt; f") == page.count("x v m") == 1
    assert "<caption>With 95" in page


def test_a_page_of_a_path_names_three_points_and_has_no_empty_column():
    text = render_comparison(audits.path())
    page = Reader(text)
    assert len(page.all("circle")) == len(audits.path().lines)
    classes = [attributes.get("class") for attributes in page.all("path")]
    assert classes.count("band") == classes.count("curve") == 1
    labels = [a for a in page.all("text") if a.get("class") == "label"]
    assert len(labels) == 3  # both ends and the chosen one
    assert "KS distance" not in text and "not estimable" not in text
    assert "<bdi>ε\u00a0=\u00a00</bdi>" in text
