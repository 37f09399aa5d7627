"""Pages in a real Chromium: offline, under their policy, with all their controls."""

import itertools
import json
import re

import pytest

import audits
import chromium
from commands import COMMON, run
from rankfair.report.audit_page import render
from rankfair.report.methods_page import MethodTable, render_comparison
from rankfair.report.text import shown
from sheets import people, write_csv


@pytest.fixture(scope="module")
def browser():
    with chromium.started() as found:
        yield found


@pytest.fixture
def opened(browser, tmp_path):
    """Return a function that opens a page; at the end the page must have been quiet."""
    pages = []

    def opener(html, *, quiet=True, **context):
        file = tmp_path / f"page{len(pages)}.html"
        file.write_text(html, encoding="utf-8")
        watched = chromium.Watched(browser, file, **context)
        pages.append((watched, quiet))
        return watched.page

    yield opener
    for watched, quiet in pages:
        if quiet:
            watched.check_quiet()
        watched.context.close()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return what commands write: pages of a path and of an audit, JSON of the path."""
    folder = tmp_path_factory.mktemp("pages")
    groups = ("</script><b>f", "m")
    data = people(n=240, groups=groups, jobs=("<i>nurse", "clerk", "cook", "chief"))
    data["pay"][data["job"] == "chief"] += 900
    few = [i for i in range(240) if data["job"][i] == "cook"][4:]
    data["job"][few] = "<i>nurse"
    csv = write_csv(folder / "pay.csv", data)
    done = run("path", csv, *COMMON, "--html", folder / "path.html", "--json", code=0)
    more = ("--control", "education", "--control", "age", "--close-to", 0.01)
    law = "--layout", "pay-transparency", "--complementary", "age"
    run("audit", csv, *COMMON, *more, *law, "--html", folder / "audit.html", code=0)
    pages = {name: (folder / f"{name}.html").read_text() for name in ("path", "audit")}
    return {**pages, "json": json.loads(done.stdout)}


def rows(page):
    """Return the names of the tasks that are shown."""
    return page.locator("#task-rows th").all_inner_texts()


def click(page, name):
    page.get_by_role("button", name=name, exact=True).click()


def all_rows(page):
    """Return the names on all pages, from the first to the last."""
    found = rows(page)
    while page.get_by_role("button", name="Next").is_enabled():
        click(page, "Next")
        found += rows(page)
    return found


def html_of(name, written):
    if name in written:
        return written[name]
    if name == "methods":
        lines = [audits.method(f"method {i}", 500 + i, 0.02 * i) for i in range(9)]
        return render_comparison(
            MethodTable(tuple(lines), audits.make_audit().provenance)
        )
    return render(audits.make_audit(**audits.AUDITS[name]))


@pytest.mark.parametrize("name", ["hostile", "path", "audit", "methods"])
def test_a_page_is_quiet_has_names_can_be_read_and_fits(opened, written, name):
    """Headings, landmarks, captions, names, contrast, and nothing that sticks out."""
    page = opened(html_of(name, written))
    levels = page.evaluate(
        "[...document.querySelectorAll('h1, h2, h3')].map((h) => +h.tagName[1])"
    )
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
    for landmark in ("header", "main", "footer"):
        assert page.locator(f"body > {landmark}").count() == 1
    unnamed = page.locator(
        "table:not(:has(caption)), svg:not([aria-hidden], [aria-label], "
        "[aria-labelledby]), figure > svg:not(:has(> title)), th:not([scope])"
    )
    assert unnamed.count() == 0
    named = page.locator("input, select, button").evaluate_all(
        "all => all.map((e) => !!(e.labels?.length || e.ariaLabel || e.innerText))"
    )
    assert all(named)
    for width in (1280, 320):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.wait_for_function(  # what scrolls can be reached by keyboard
        """() => [...document.querySelectorAll(".scroll:not([tabindex='0'])")]
          .every((e) => e.scrollWidth <= e.clientWidth)"""
    )
    for look in (
        {"color_scheme": "dark"},
        {"media": "print"},
        {"color_scheme": "light"},
    ):
        page.emulate_media(**look)
        found = page.evaluate(chromium.LEGIBLE)
        assert [text for text, contrast, _ in found if contrast < 4.5] == []


def test_hostile_names_stay_text_and_the_policy_stops_the_rest(opened):
    audit = audits.make_audit(**audits.AUDITS["hostile"])
    page = opened(render(audit), quiet=False)
    assert page.locator("script").count() == 2
    assert page.locator("img, iframe, object, embed, link").count() == 0
    handlers = page.evaluate(
        """[...document.querySelectorAll("*")].flatMap((node) =>
             node.getAttributeNames().filter((name) => name.startsWith("on")))"""
    )
    assert handlers == [] and page.evaluate("violations") == []
    tasks = {" ".join(shown(line.task).split()) for line in audit.tasks}
    assert set(all_rows(page)) == tasks
    page.locator("#task-find").fill("<SCRIPT>alert(1)")
    assert len(rows(page)) == 25
    page.evaluate(
        """() => {
          const script = document.createElement("script");
          script.textContent = "window.broken = true";
          const image = document.createElement("img");
          image.src = "https://example.org/x.png";
          document.body.append(script, image);
          document.body.setAttribute("style", "color: red");
        }"""
    )
    page.wait_for_function("violations.length >= 3")
    assert page.evaluate("window.broken") is None
    stopped = {text.split()[0] for text in page.evaluate("violations")}
    assert stopped == {"script-src-elem", "img-src", "style-src-attr"}


def values(audit, key, model):
    lines = {line.task: line for line in audit.tasks if line.model == model}
    read = {"AUC": lambda line: line.auc.value, "p": lambda line: line.adjusted_p}[key]
    return {task: read(line) for task, line in lines.items()}


def test_tasks_can_be_sorted_turned_over_and_found(opened):
    audit = audits.make_audit(n_tasks=30)
    page = opened(render(audit))
    status = page.locator("#task-status")
    assert status.inner_text() == "Rows 1 to 25 of 30 tasks"
    assert page.get_by_role("button", name="Previous").is_disabled()
    found = all_rows(page)
    assert sorted(found) == sorted(f"task {i}" for i in range(30))
    assert page.get_by_role("button", name="Last").is_disabled()
    for name, wanted in (("Previous", found[:25]), ("Last", found[25:])):
        click(page, name)
        assert rows(page) == wanted
    for model, key in (("before", "AUC"), ("after", "p")):
        page.locator("#task-model").select_option(model)
        known, ways = values(audit, key, model), []
        for _ in range(2):
            click(page, key)
            (way,) = page.locator("th[aria-sort]").evaluate_all(
                "heads => heads.map((head) => head.ariaSort)"
            )
            ways.append(way)
            each = [known[task] for task in all_rows(page)]
            numbers = [v for v in each if v is not None and v == v]
            # Unknown ones come last, both ways.
            assert len(each) == 30 and each[: len(numbers)] == numbers
            sign = {"ascending": 1, "descending": -1}[way]
            steps = itertools.pairwise(numbers)
            assert all(sign * (b - a) >= -1e-2 * abs(a) - 1e-4 for a, b in steps)
        # The first click shows the largest, but the smallest p.
        assert ways == sorted(ways, reverse=key != "p")
    click(page, "Task")
    page.locator("#task-find").fill(" TASK 1 ")
    assert rows(page) == ["task 1", *(f"task {i}" for i in range(10, 20))]
    assert "11 found of 30 tasks" in status.inner_text()
    page.locator("#task-find").fill("")
    page.locator("#task-model").select_option("before")
    page.get_by_label("flagged only").check()
    flagged = {t.task for t in audit.tasks if t.model == "before" and t.flagged}
    assert set(all_rows(page)) == flagged
    page.locator("#task-find").fill("no such task")
    assert rows(page) == [] and status.inner_text() == "No task is like that."


def test_without_scripts_the_page_says_what_is_missing(opened, written):
    html = render(audits.make_audit(n_tasks=60))
    plain = opened(html, quiet=False, java_script_enabled=False)
    live = opened(html)
    assert plain.locator("#task-first").is_visible()
    assert live.locator("#task-first").is_hidden()
    for hidden in ("#theme", "#task-controls", "#task-pager"):
        assert plain.locator(hidden).is_hidden()
        assert live.locator(hidden).is_visible()
    bare = opened(written["path"], quiet=False, java_script_enabled=False)
    assert bare.locator("#explorer").is_hidden()


def paper(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_the_keyboard_is_enough_and_the_theme_is_the_reader_s(opened):
    page = opened(render(audits.make_audit()), color_scheme="dark")
    first, button = paper(page), page.locator("#theme")
    assert button.inner_text() == "Light page"
    for name in ("className === 'skip'", "id === 'theme'"):
        page.keyboard.press("Tab")
        assert page.evaluate(f"document.activeElement.{name}")
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(outline) == "solid"
    page.keyboard.press("Enter")
    other = paper(page)
    page.emulate_media(color_scheme="light")
    assert paper(page) == other != first
    button.click()
    assert paper(page) == first
    assert button.get_attribute("aria-pressed") == "true"
    page.locator("[data-sort=task] button").focus()
    page.keyboard.press("Space")
    assert page.locator("[data-sort=task]").get_attribute("aria-sort") == "ascending"
    assert page.evaluate("document.activeElement.textContent") == "Task"


def test_print_has_white_paper_more_rows_and_no_controls(opened):
    many = (("race", ("a", "b", "c", "d")),)
    page = opened(
        render(audits.make_audit(n_tasks=120, attributes=many)), color_scheme="dark"
    )
    status = page.locator("#task-status")
    assert page.locator("details:not([open])").count() > 0
    click(page, "Next")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert paper(page) == "rgb(255, 255, 255)"
    for hidden in ("nav", "#theme", "#task-controls", ".buttons", "footer"):
        assert page.locator(hidden).is_hidden()
    assert len(rows(page)) == 100
    assert status.is_visible() and status.inner_text() == "Rows 1 to 100 of 120 tasks"
    assert page.locator("details:not([open])").count() == 0
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert status.inner_text() == "Rows 26 to 50 of 120 tasks"
    assert page.locator("details:not([open])").count() > 0
    pdf = page.pdf(format="A4")
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 100


def test_ten_thousand_tasks_are_quick_and_small(opened):
    models = ("before", "after")
    html = render(
        audits.make_audit(n_tasks=10_000, models=models, label="{:05d} office")
    )
    assert len(html.encode()) < 1_000_000
    assert "The page holds" not in html
    page = opened(html)
    assert len(rows(page)) == 25
    click(page, "Last")
    assert "9,976 to 10,000 of 10,000" in page.locator("#task-status").inner_text()


def test_words_and_counts_stay_whole_on_a_phone_and_names_in_their_order(opened):
    long = ("a name of many words " * 5, "wordwithoutend" * 7)
    features = (("gender", ("שלום 12", "male")), ("origin", long))
    page = opened(render(audits.make_audit(attributes=features, n_tasks=3)))
    left = [one.bounding_box()["x"] for one in page.locator(".forest th bdi").all()[:2]]
    assert left == sorted(left)
    page.set_viewport_size({"width": 375, "height": 800})
    broken = page.evaluate(
        """() => [...document.querySelectorAll("table bdi, table .value")]
          .filter((e) => e.getClientRects().length > 1 && !/\\s/.test(e.textContent))
          .map((e) => e.textContent).filter((text) => text.length < 40)"""
    )
    assert broken == []
    counts = page.locator(".key .muted")
    assert counts.count() >= 4
    tall = counts.evaluate_all("all => all.map((e) => e.getClientRects()[0].height)")
    size = counts.first.evaluate("e => parseFloat(getComputedStyle(e).fontSize)")
    assert max(tall) < 2 * size


def state(page):
    """Return what the explorer shows: ε, and the shape of the first group."""
    shape = page.locator("#explore-shapes path").first
    return page.locator("#explore-now").inner_text(), shape.get_attribute("d")


def test_a_slider_moves_through_the_path_by_keyboard_and_on_paper(opened, written):
    page, rows = opened(written["path"]), written["json"]["rows"]
    page.emulate_media(reduced_motion="reduce")
    assert page.locator("script").count() == 2
    names = page.locator("#explorer .key bdi").all_inner_texts()
    assert names == ["</script><b>f", "m"]
    for kind in ("#explorer .key rect", "#explore-shapes path"):
        colours = [each.get_attribute("class") for each in page.locator(kind).all()]
        assert sorted(colours) == ["shape c1", "shape c2"]
    said = page.locator("#explore-aucs").text_content()
    assert "<i>nurse" in said and "cook" not in said  # four rows, and the next smallest
    assert "2 tasks are not shown" in page.locator("#explorer").inner_text()
    assert page.locator("#explore-aucs .half").count() == 1  # parity
    page.locator("#explore-epsilon").focus()
    page.keyboard.press("End")
    free = state(page)
    assert free[0] == f"{rows[-1]['epsilon']:.3g}"
    page.keyboard.press("Home")
    fair = state(page)
    assert fair[0] == "0" and fair[1] != free[1]
    said = page.locator("#explore-said").inner_text()
    assert f"{100 * rows[0]['auc']:.1f} % of pairs" in said
    above = 100 * (rows[0]["rmse"] / min(row["rmse"] for row in rows) - 1)
    assert f"{above:.1f} % above the least" in said
    page.keyboard.press("ArrowRight")
    other = next(row for row in rows if row["rmse"] != rows[0]["rmse"])
    chosen = state(page)
    assert chosen[0] == f"{other['epsilon']:.3g}"
    value = page.locator("#explore-epsilon").get_attribute("aria-valuetext")
    assert value.startswith("ε = ") and "error" in value
    page.emulate_media(media="print")
    assert page.locator("#explore-epsilon").is_hidden()
    assert page.locator("#explore-now").is_visible() and state(page)[0] == chosen[0]
    page.emulate_media(media="screen")
    page.get_by_role("button", name="Play").click()
    for name in ("Stop", "Play"):
        page.get_by_role("button", name=name).wait_for()
    assert state(page) == fair
    page.emulate_media(reduced_motion="no-preference")
    page.locator("#explore-epsilon").press("End")  # it glides there
    page.wait_for_function(
        "d => document.querySelector('#explore-shapes path').getAttribute('d') === d",
        arg=free[1],
    )
