import base64
import hashlib
import json
import re
import sys
from dataclasses import asdict, is_dataclass, replace
from html.parser import HTMLParser

import pytest

import audits
from rankfair.report import (
    MethodLine,
    MethodTable,
    render,
    render_comparison,
    render_fragment,
)
from rankfair.report import page as assembly
from rankfair.report.text import shown
from rankfair.report.view import view

VOID = {"meta", "input", "br"}


class Reader(HTMLParser):
    """Read tags, attributes and texts; tags must be closed in order."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts, self.open, self.svg = [], [], [], 0
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


def test_the_page_is_sound_and_names_nothing_outside(audit):
    page = Reader(render(audit))
    for _, attributes in page.tags:
        assert not {"style", "src"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]
        assert attributes.get("href", "#").startswith("#")
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = {a["href"][1:] for a in page.all("a")}
    named_by = " ".join(a.get("aria-labelledby", "") for _, a in page.tags).split()
    assert links | set(named_by) <= set(ids)


def test_the_policy_names_the_style_and_the_script_of_the_page(audit):
    html = render(audit)
    page = Reader(html)
    (policy,) = [
        meta["content"]
        for meta in page.all("meta")
        if meta.get("http-equiv") == "Content-Security-Policy"
    ]
    for tag in ("style", "script"):
        inside = re.search(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert len(page.all("style")) == 1
    kinds = [script.get("type") for script in page.all("script")]
    assert kinds == (["application/json", None] if audit.tasks else [None])


def test_hostile_names_are_whole_in_the_text():
    page = Reader(render(audits.make_audit(**audits.AUDITS["hostile"])))
    texts = page.text("bdi")
    for name in audits.HOSTILE:
        assert shown(name) in texts
    assert page.text("h1") == shown(" ".join(audits.HOSTILE))
    assert page.text("code") == shown(" ".join(audits.HOSTILE))
    assert not page.all("img")
    assert not page.all("iframe")
    render(audits.make_audit(**audits.AUDITS["hostile"])).encode()


def test_a_group_that_is_called_like_a_place_stays_a_name():
    assert str(assembly.named("{group}/{against}", "{against}", "b")) == (
        "<bdi>{against}</bdi>/<bdi>b</bdi>"
    )


def test_the_view_is_plain_data(audit):
    def plain(value):
        assert is_dataclass(value)
        return asdict(value)

    json.dumps(view(audit), default=plain, allow_nan=False)


def test_every_figure_has_its_interval_or_says_why_not():
    audit = audits.make_audit(models=("m",), target=False)
    # Of a target that is known the page says why its errors are not.
    known = audits.make_audit(models=("m",)).sensitive_features
    seen = view(replace(audit, sensitive_features=known))
    cells = {
        row["name"]: row["cells"][0] for row in seen["sections"][0]["tables"][0]["rows"]
    }
    why = cells.pop("Difference of mean residuals")
    assert (why["text"], why["interval"], why["note"]) == (
        "–",
        "",
        "no target was given",
    )
    assert all(cell["interval"] for cell in cells.values())
    for cell in seen["errors"]["rows"][0]["cells"]:
        assert cell["note"] == "no target was given"


def test_a_missing_number_without_a_reason_still_says_so():
    audit = audits.make_audit(models=("m",))
    lost = replace(audit.comparisons[0], ks=audits.unknown(""))
    seen = view(replace(audit, comparisons=(lost,)))
    rows = seen["sections"][0]["tables"][0]["rows"]
    (ks,) = [row for row in rows if row["name"].startswith("Kolmogorov")]
    assert ks["cells"][0]["note"] == "not estimable"


def test_the_page_counts_what_is_missing_and_warns_of_tasks_with_one_group():
    audit = audits.make_audit()
    odd = replace(
        audit.sensitive_features[0], n_missing=1234, constant_in_tasks=True, note="Odd."
    )
    page = Reader(render(replace(audit, sensitive_features=(odd,)))).text("p")
    assert "1,234 rows have no value of" in page
    assert "Every task has rows of one group only." in page
    assert "Odd." in page


def test_the_page_says_where_it_comes_from():
    audit = audits.make_audit()
    page = Reader(render(audit))
    facts = page.text("dd")
    for part in (audit.provenance.fingerprint, audit.provenance.created, "numpy 2.1.0"):
        assert part in facts
    assert page.text("code") == audit.provenance.command
    bare = replace(audit.provenance, command=None, seed=None, fingerprint="")
    page = Reader(render(replace(audit, provenance=bare)))
    assert "Seed" not in page.text("dt")
    assert not page.all("pre")


def test_many_groups_and_many_tasks_share_a_megabyte():
    groups = tuple(f"group {i}" for i in range(20))
    audit = audits.make_audit(n_tasks=10_000, attributes=(("race", groups),))
    html = render(audit)
    assert len(html.encode()) < 1_000_000
    assert re.search(r"The page holds [\d,]+ of 10,000 lines", html)
    assert "The 24 largest rank gaps of 210 comparisons" in html
    assert html.count("<details") == 24


def test_tables_of_the_largest_gaps_stay_unknown_ones_go():
    groups = tuple("abcdefgh")
    audit = audits.make_audit(models=("m",), attributes=(("race", groups),))
    shifts = [0.001 * (7 * i % 36) for i in range(36)]
    made = tuple(
        replace(c, auc=audits.estimate(0.5 - shift) if shift else audits.unknown())
        for c, shift in zip(audit.comparisons, shifts, strict=True)
    )
    (section,) = view(replace(audit, comparisons=made))["sections"]
    kept = [(table["group"], table["against"]) for table in section["tables"]]
    largest = sorted(shifts)[-24:]
    assert kept == [
        (c.group, c.against)
        for c, shift in zip(made, shifts, strict=True)
        if shift in largest
    ]


def test_without_tasks_a_page_is_as_large_as_it_must_be():
    assert len(render(audits.make_audit(n_tasks=0), most_bytes=1000)) > 1000


def test_the_audit_writes_the_page(tmp_path):
    audit = audits.make_audit()
    path = audit.to_html(tmp_path / "page.html", command="make audit")
    page = path.read_text(encoding="utf-8")
    assert Reader(page).text("code") == "make audit"
    assert Reader(audit._repr_html_()).all("table")


def test_without_jinja_the_message_says_how_to_get_it(monkeypatch):
    assembly._environment.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r'pip install "rankfair\[cli\]"'):
        render(audits.make_audit())


def test_a_notebook_gets_a_table_and_a_frame_that_can_reach_nothing(audit):
    html = render_fragment(audit)
    fragment = Reader(html)
    assert not fragment.all("script")
    assert not fragment.all("style")
    (frame,) = fragment.all("iframe")
    assert frame["sandbox"] == "allow-scripts"
    assert frame["srcdoc"].startswith("<!doctype html>")
    rows = fragment.all("tr")
    assert len(rows) == 1 + len(audit.comparisons)


def test_methods_stand_side_by_side():
    lines = (
        audits.method("unconstrained", 500.0, 0.2),
        audits.method("</script>", 700.0, 0.01, chosen=True, note="needs the group"),
        MethodLine("lost", *[audits.unknown()] * 4),
    )
    made = audits.make_audit().provenance
    table = MethodTable(lines, made, "Two of three.", audits.path(), notes=("Why.",))
    page = Reader(render_comparison(table))
    assert len(page.all("circle")) == 2 + len(audits.path())
    names = [name for tag, name in page.texts if tag == "bdi"]
    assert names == ["unconstrained", "</script>", "lost"]
    assert "Why." in page.text("p")
    empty = replace(made, n_tasks=0)
    bare = Reader(render_comparison(MethodTable(lines[2:], empty)))
    assert not bare.all("circle")


def test_a_column_audited_by_itself_is_called_by_its_name_and_has_no_errors():
    alone = render(audits.make_audit(**audits.AUDITS["nothing but predictions"]))
    assert "Audit of <bdi>m</bdi>" in alone
    assert "<bdi>m</bdi> by <bdi>" in alone
    for word in (
        "Mean of the target",
        "<caption>Errors",
        "Mean predicted",
        "residuals",
    ):
        assert word not in alone
    both = render(audits.make_audit())
    for word in (
        "Mean of the target",
        "<caption>Errors",
        "Mean predicted",
        "residuals",
    ):
        assert word in both


def test_groups_are_named_once_if_all_methods_are_of_the_same():
    made = audits.make_audit().provenance
    lines = [
        MethodLine(name, *[audits.unknown()] * 4, groups=groups)
        for name, groups in (("one", "m <v> f"), ("two", "m <v> f"), ("three", ""))
    ]
    page = render_comparison(MethodTable(tuple(lines), made))
    assert page.count("m &lt;v&gt; f") == 1 and ", with 95" in page
    lines[0] = replace(lines[0], groups="x v m")
    page = render_comparison(MethodTable(tuple(lines), made))
    assert page.count("m &lt;v&gt; f") == page.count("x v m") == 1
    assert "<caption>With 95" in page


def test_one_task_is_one_task():
    audit = audits.make_audit()
    made = replace(audit.provenance, n_tasks=1)
    assert "1 task" in view(replace(audit, provenance=made))["facts"]
    alone = view(replace(audit, provenance=replace(made, n_rows=1), min_group=1))
    assert "1 row" in alone["facts"]
    assert ("Smallest group judged", "1 row") in alone["provenance"]["facts"]
    none = replace(audit.provenance, n_tasks=0)
    facts = view(replace(audit, provenance=none))["facts"]
    assert not [fact for fact in facts if "task" in fact]


def _figures_of_a_path():
    nothing = audits.unknown("")
    return [
        MethodLine(
            f"ε = {p.epsilon:g}",
            p.rmse,
            p.auc_gap,
            audits.estimate(0.1),
            nothing,
            chosen=p.chosen,
        )
        for p in audits.path()
    ]


def test_a_page_of_a_path_draws_every_point_once_and_has_no_empty_column():
    made = audits.make_audit().provenance
    table = MethodTable(tuple(_figures_of_a_path()), made, path=audits.path())
    text = render_comparison(table)
    page = Reader(text)
    assert len(page.all("circle")) == len(audits.path())
    classes = [attributes.get("class") for attributes in page.all("path")]
    assert classes.count("band") == classes.count("curve") == 1
    labels = [a for a in page.all("text") if a.get("class") == "label"]
    chosen = any(p.chosen for p in audits.path()[1:-1])
    assert len(labels) == 2 + chosen
    assert "Difference of means" in text
    assert "KS distance" not in text
    assert "<bdi>ε\u00a0=\u00a00</bdi>" in text
    assert "not estimable" not in text


def test_many_methods_have_numbers_beside_their_points_and_in_the_table():
    names = [f"method {i}" for i in range(10)]
    lines = [audits.method(n, 500.0 + 20 * i, 0.02 * i) for i, n in enumerate(names)]
    lost = MethodLine("lost", *[audits.unknown()] * 4)
    made = audits.make_audit().provenance
    page = Reader(render_comparison(MethodTable((lost, *lines), made)))
    written = [text for tag, text in page.texts if tag == "text"]
    assert {str(i) for i in range(1, 11)} <= set(written)
    assert not set(names) & set(written)
    assert [text for tag, text in page.texts if tag == "li"] == names
