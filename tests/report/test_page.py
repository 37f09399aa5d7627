"""Pages as HTML: sound, with a strict policy, and with every figure or its reason."""

import base64
import hashlib
import json
import re
import sys
from dataclasses import asdict, replace
from html.parser import HTMLParser

import pytest

import audits
from rankfair.report import page as assembly
from rankfair.report.audit_page import AuditPage, render, render_fragment, view
from rankfair.report.methods_page import MethodLine, MethodTable, render_comparison
from rankfair.report.text import shown

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


def section(audit, name):
    """Return a section of the page as its template reads it."""
    return next(s for s in view(AuditPage(audit))["sections"] if s["id"] == name)


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
    json.dumps(view(AuditPage(audit)), default=asdict, allow_nan=False)


def test_hostile_names_are_whole_in_the_text():
    html = render(audits.make_audit(**audits.AUDITS["hostile"]))
    page = Reader(html)
    assert all(shown(name) in page.text("bdi") for name in audits.HOSTILE)
    assert page.text("h1") == page.text("code") == shown(" ".join(audits.HOSTILE))
    assert not page.all("img") and not page.all("iframe")
    html.encode()
    named = assembly.named("{group}/{against}", "{against}", "b")
    assert str(named) == "<bdi>{against}</bdi>/<bdi>b</bdi>"


def test_every_figure_has_its_interval_or_says_why_not():
    audit = audits.make_audit(models=("m",), target=False)
    # The page says of a known target why its errors are not there.
    known = audits.make_audit(models=("m",)).sensitive_features
    lost = replace(audit.comparisons[0], ks=audits.unknown(""))
    audit = replace(audit, sensitive_features=known, comparisons=(lost,))
    figures = section(audit, "figures")
    (table,) = figures["features"][0]["tables"]
    cells = {row["name"]: row["cells"][0] for row in table["rows"]}
    assert cells.pop("Difference of mean residuals")["note"] == "no target was given"
    assert cells.pop("Kolmogorov–Smirnov distance")["note"] == "not estimable"
    assert all(cell["interval"] for cell in cells.values())
    for cell in figures["errors"]["rows"][0]["cells"]:
        assert (cell["text"], cell["note"]) == ("–", "no target was given")


def test_the_page_says_what_is_missing_and_where_it_comes_from():
    audit = audits.make_audit()
    odd = {"n_missing": 1234, "constant_in_tasks": True, "note": "Odd."}
    feature = replace(audit.sensitive_features[0], **odd)
    page = Reader(render(replace(audit, sensitive_features=(feature,))))
    for sentence in (
        "1,234 rows have no value of",
        "Every task has rows of one group only.",
        "Odd.",
    ):
        assert sentence in page.text("p")
    for part in (MADE.fingerprint, MADE.created, "numpy 2.1.0"):
        assert part in page.text("dd")
    assert page.text("code") == MADE.command
    bare = replace(MADE, command=None, seed=None, fingerprint="")
    page = Reader(render(replace(audit, provenance=bare)))
    assert "Seed" not in page.text("dt") and not page.all("pre")


def test_one_row_and_one_task_are_one():
    audit = replace(audits.make_audit(), min_group=1)
    seen = view(AuditPage(replace(audit, provenance=replace(MADE, n_tasks=1))))
    assert "1 task" in seen["facts"]
    alone = view(AuditPage(replace(audit, provenance=replace(MADE, n_rows=1))))
    assert "1 row" in alone["facts"]
    assert ("Smallest group judged", "1 row") in alone["provenance"]["facts"]
    none = view(AuditPage(replace(audit, provenance=replace(MADE, n_tasks=0))))
    assert not [fact for fact in none["facts"] if "task" in fact]


def test_many_groups_and_many_tasks_share_a_megabyte():
    groups = tuple(f"group {i}" for i in range(20))
    audit = audits.make_audit(n_tasks=10_000, attributes=(("race", groups),))
    html = render(audit)
    assert len(html.encode()) < 1_000_000
    assert re.search(r"The page holds [\d,]+ of 10,000 lines", html)
    assert "The 24 largest rank gaps of 210 comparisons" in html
    assert html.count("<details") == 24 and html.count("<details open") < 4
    assert len(render(audits.make_audit(n_tasks=0), most_bytes=1000)) > 1000


def test_tables_of_the_largest_gaps_stay_unknown_ones_go():
    groups = tuple("abcdefgh")
    audit = audits.make_audit(models=("m",), attributes=(("race", groups),))
    shifts = [0.001 * (7 * i % 36) for i in range(36)]
    made = tuple(
        replace(c, auc=audits.estimate(0.5 - shift) if shift else audits.unknown())
        for c, shift in zip(audit.comparisons, shifts, strict=True)
    )
    (feature,) = section(replace(audit, comparisons=made), "figures")["features"]
    kept = [(table["group"], table["against"]) for table in feature["tables"]]
    pairs = zip(made, shifts, strict=True)
    largest = sorted(shifts)[-24:]
    assert kept == [(c.group, c.against) for c, shift in pairs if shift in largest]


def test_a_column_audited_by_itself_is_called_by_its_name_and_has_no_errors():
    alone = render(audits.make_audit(**audits.AUDITS["nothing but predictions"]))
    both = render(audits.make_audit())
    assert "Audit of <bdi>m</bdi>" in alone and "<bdi>m</bdi> by <bdi>" in alone
    words = "Mean of the target", "<caption>Errors", "Mean predicted", "residuals"
    for word in words:
        assert word not in alone and word in both


def test_the_audit_writes_the_page_and_a_notebook_gets_a_closed_frame(audit, tmp_path):
    path = audit.to_html(tmp_path / "page.html", command="make audit")
    assert Reader(path.read_text(encoding="utf-8")).text("code") == "make audit"
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


def unknown(name, **more):
    return MethodLine(name, *[audits.unknown()] * 4, **more)


def test_methods_stand_side_by_side():
    lines = (
        audits.method("unconstrained", 500.0, 0.2),
        audits.method("</script>", 700.0, 0.01, chosen=True, note="needs the group"),
        unknown("lost"),
    )
    table = MethodTable(lines, MADE, "Two of three.", notes=("Why.",))
    page = Reader(render_comparison(table))
    assert len(page.all("circle")) == 2
    names = [name for tag, name in page.texts if tag == "bdi"]
    assert names == ["unconstrained", "</script>", "lost"]
    assert "Why." in page.text("p") and "Two of three." in page.text("p")
    assert not Reader(render_comparison(MethodTable(lines[2:], MADE))).all("circle")


def test_groups_are_named_once_if_all_methods_are_of_the_same():
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


def test_many_methods_have_numbers_beside_their_points_and_in_the_table():
    names = [f"method {i}" for i in range(10)]
    lines = [audits.method(n, 500.0 + 20 * i, 0.02 * i) for i, n in enumerate(names)]
    page = Reader(render_comparison(MethodTable((unknown("lost"), *lines), MADE)))
    written = [text for tag, text in page.texts if tag == "text"]
    assert {str(i) for i in range(1, 11)} <= set(written)
    assert not set(names) & set(written)
    assert [text for tag, text in page.texts if tag == "li"] == names
