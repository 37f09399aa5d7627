"""The page in a real Chromium: offline, under its own policy, with all its controls."""

import itertools
import json
import re

import pytest

import audits
import chromium
from commands import COMMON, run
from rankfair.report.audit_page import render, render_fragment
from rankfair.report.methods_page import render_comparison
from rankfair.report.text import shown
from sheets import people, write_csv

PHONE = {"viewport": {"width": 390, "height": 800}}


@pytest.fixture(scope="session")
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


@pytest.mark.parametrize("name", audits.AUDITS)
def test_offline_quiet_and_under_its_own_policy(opened, name):
    page = opened(render(audits.make_audit(**audits.AUDITS[name])))
    assert page.locator(".verdict").is_visible()
    check_structure(page)


def check_structure(page):
    """Headings, landmarks, captions and names for those who listen."""
    levels = page.evaluate(
        "[...document.querySelectorAll('h1, h2, h3')].map((h) => +h.tagName[1])"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
    for landmark in ("header", "nav", "main", "footer"):
        assert page.locator(f"body > {landmark}").count() == 1
    assert page.locator("table:not(:has(caption))").count() == 0
    unnamed = page.locator(
        "svg:not([aria-hidden], [aria-label], [aria-labelledby]), "
        "figure svg:not(:has(> title)), th:not([scope])"
    )
    assert unnamed.count() == 0
    named = page.locator("input, select, button").evaluate_all(
        "all => all.map((e) => !!(e.labels?.length || e.textContent.trim()))"
    )
    assert all(named)


def test_the_page_of_a_path_is_quiet_too(opened):
    page = opened(render_comparison(audits.path()))
    labels = page.locator("svg.picture .label").all_text_contents()
    assert labels == ["ε = 0", "ε = 0.04", "ε = 0.16"]


@pytest.fixture(scope="module")
def explored(tmp_path_factory):
    """Return what the command line writes for a path: page, and JSON."""
    folder = tmp_path_factory.mktemp("path")
    groups = ("</script><b>f", "m")
    data = people(n=240, groups=groups, jobs=("<i>nurse", "clerk", "cook"))
    csv, page = write_csv(folder / "pay.csv", data), folder / "path.html"
    done = run("path", csv, *COMMON, "--html", page, "--json", code=0)
    return page.read_text("utf-8"), json.loads(done.stdout)


def state(page):
    """Return what the explorer shows, once it stands still."""
    page.wait_for_function(
        """() => {
          const now = document.querySelector("#explore-shapes path").getAttribute("d");
          const still = now === window.before;
          window.before = now;
          return still;
        }""",
        polling=120,
    )
    return page.locator("#explore-now").inner_text(), page.locator(
        "#explore-shapes path"
    ).first.get_attribute("d")


def test_a_slider_moves_through_the_path_by_keyboard(opened, explored):
    html, found = explored
    assert len(html.encode()) < 500_000
    page, rows = opened(html), found["rows"]
    check_explorer(page)
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
    assert state(page)[0] == f"{other['epsilon']:.3g}"
    value = page.locator("#explore-epsilon").get_attribute("aria-valuetext")
    assert value.startswith("ε = ") and "error" in value
    page.get_by_role("button", name="Play").click()
    for name in ("Stop", "Play"):
        page.get_by_role("button", name=name).wait_for()
    assert state(page) == fair


def check_explorer(page):
    """Labels are text, and every picture has a name."""
    assert page.locator("script").count() == 2
    assert page.locator("b, i").all_inner_texts() == [
        page.locator("#explore-now").inner_text()
    ]
    names = page.locator("#explorer .key bdi").all_inner_texts()
    assert names == ["</script><b>f", "m"]
    keys = page.locator("#explorer .key rect")
    shapes = page.locator("#explore-shapes path")
    for i in range(2):
        colours = keys.nth(i), shapes.nth(i)
        one, other = (each.get_attribute("class") for each in colours)
        assert one == other
    assert "<i>nurse" in page.locator("#explore-aucs").text_content()
    assert page.locator("#explorer svg[role=img]:not(:has(> title))").count() == 0


def test_the_explorer_fits_every_width_theme_and_paper(opened, explored):
    page = opened(explored[0], color_scheme="dark")
    for width in (1280, 768, 390, 320):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator("#explore-epsilon").fill("7")
    chosen = state(page)
    found = page.evaluate(chromium.LEGIBLE)
    assert [text for text, contrast, _ in found if contrast < 4.5] == []
    page.emulate_media(media="print")
    assert page.locator("#explore-epsilon").is_hidden()
    assert page.locator("#explore-now").is_visible() and state(page)[0] == chosen[0]
    plain = opened(explored[0], quiet=False, java_script_enabled=False)
    assert plain.locator("#explorer").is_hidden()


def test_the_policy_stops_whatever_is_not_the_page_s_own(opened):
    page = opened(render(audits.make_audit(n_tasks=0)), quiet=False)
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


def test_hostile_names_stay_text(opened):
    audit = audits.make_audit(**audits.AUDITS["hostile"])
    page = opened(render(audit))
    assert page.locator("script").count() == 2
    assert page.locator("img, iframe, object, embed, link").count() == 0
    handlers = page.evaluate(
        """[...document.querySelectorAll("*")].flatMap((node) =>
             node.getAttributeNames().filter((name) => name.startsWith("on")))"""
    )
    assert handlers == []
    tasks = [shown(line.task) for line in audit.tasks[::2]]
    assert rows(page) == [" ".join(task.split()) for task in tasks[:25]]
    page.locator("#task-find").fill("<SCRIPT>alert(1)")
    assert len(rows(page)) == 25


def test_names_from_right_to_left_leave_the_rest_in_order(opened):
    page = opened(render(audits.make_audit(attributes=(("sex", ("שלום 12", "F")),))))
    cell = page.locator(".forest tbody th").first
    inside = cell.locator("bdi").all()
    left = [one.bounding_box()["x"] for one in inside]
    assert left == sorted(left)
    assert page.locator("bdi").first.evaluate(
        "e => getComputedStyle(e).unicodeBidi"
    ) in ("isolate",)


def values(audit, key, model="after"):
    lines = {line.task: line for line in audit.tasks if line.model == model}
    read = {
        "Rows": lambda line: line.n_group + line.n_against,
        "Rank AUC": lambda line: abs(line.auc.value - 0.5),
        "AUC": lambda line: line.auc.value,
        "p": lambda line: line.adjusted_p,
    }[key]
    return {task: read(line) for task, line in lines.items()}


@pytest.mark.parametrize("model", ["before", "after"])
def test_sorting_by_a_number_and_back(opened, model):
    audit = audits.make_audit(n_tasks=30)
    page = opened(render(audit))
    page.locator("#task-model").select_option(model)
    for key in ("Rows", "Rank AUC", "AUC", "p"):
        known = values(audit, key, model)
        ways = []
        for _ in range(2):
            click(page, key)
            (way,) = page.locator("th[aria-sort]").evaluate_all(
                "heads => heads.map((head) => head.ariaSort)"
            )
            ways.append(way)
            found = [known[task] for task in all_rows(page)]
            numbers = [v for v in found if v is not None and v == v]
            # Unknown ones come last, both ways.
            assert len(found) == 30
            assert found[: len(numbers)] == numbers
            check_order(numbers, way)
        # The first click shows the largest, but the smallest p.
        assert ways == sorted(ways, reverse=key != "p")


def check_order(numbers, way):
    """Numbers go one way, up to the figures that a page holds."""
    sign = {"ascending": 1, "descending": -1}[way]
    steps = itertools.pairwise(numbers)
    assert all(sign * (b - a) >= -1e-2 * abs(a) - 1e-4 for a, b in steps)


def test_paging_shows_every_task_once(opened):
    page = opened(render(audits.make_audit(n_tasks=60)))
    status = page.locator("#task-status")
    assert status.inner_text() == "Rows 1 to 25 of 60 tasks"
    assert page.get_by_role("button", name="Previous").is_disabled()
    found = all_rows(page)
    assert found == [f"task {i}" for i in range(60)]
    assert status.inner_text() == "Rows 51 to 60 of 60 tasks"
    assert page.get_by_role("button", name="Last").is_disabled()
    click(page, "Previous")
    assert rows(page) == found[25:50]
    click(page, "Last")
    click(page, "First")
    assert rows(page) == found[:25]


def test_filtering_by_name_and_flag(opened):
    audit = audits.make_audit(n_tasks=60)
    page = opened(render(audit))
    page.locator("#task-find").fill(" TASK 1 ")
    expected = [f"task {i}" for i in range(60) if str(i).startswith("1")]
    assert rows(page) == expected
    assert "11 found of 60 tasks" in page.locator("#task-status").inner_text()
    page.locator("#task-find").fill("")
    page.locator("#task-model").select_option("before")
    page.get_by_label("flagged only").check()
    flagged = [t.task for t in audit.tasks if t.model == "before" and t.flagged]
    assert all_rows(page) == flagged
    page.locator("#task-find").fill("no such task")
    assert rows(page) == []
    assert page.locator("#task-status").inner_text() == "No task is like that."


def test_another_comparison_can_be_chosen(opened):
    audit = audits.make_audit(attributes=(("race", ("a", "b", "c")),), models=("m",))
    more = audits.task_lines(3, ("m",), "race", "c", "<b>", "other {}")
    page = opened(render(type(audit)(**{**vars(audit), "tasks": audit.tasks + more})))
    assert page.locator("#task-model").is_hidden()
    page.locator("#task-set").select_option("race: c against <b>")
    assert rows(page) == ["other 0", "other 1", "other 2"]
    assert page.locator("#task-pair").inner_text() == "c against <b>"


def test_without_scripts_the_first_rows_are_the_same(opened):
    html = render(audits.make_audit(n_tasks=60))
    plain = opened(html, quiet=False, java_script_enabled=False)
    live = opened(html)
    words = [p.locator("#task-rows").inner_text().split() for p in (plain, live)]
    assert words[0] == words[1]
    marks = [
        p.locator("#task-rows .strip").evaluate_all(
            """nodes => nodes.map((svg) => [...svg.querySelectorAll(".bar, .mark")].map(
                 (n) => [n.getAttribute("class"), ...["x1", "x2", "y1", "cx", "x"].map(
                   (a) => n.hasAttribute(a) ? Math.round(n.getAttribute(a)) : 0)]))"""
        )
        for p in (plain, live)
    ]
    assert marks[0] == marks[1]
    note = "#task-first"
    assert (plain.locator(note).is_visible(), live.locator(note).is_hidden()) == (1, 1)
    for hidden in ("#theme", "#task-controls", "#task-pager"):
        assert plain.locator(hidden).is_hidden()
        assert live.locator(hidden).is_visible()


def paper(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


@pytest.mark.parametrize("wish", ["light", "dark"])
def test_the_theme_follows_the_system_until_the_button_is_used(opened, wish):
    page = opened(render(audits.make_audit()), color_scheme=wish)
    first, button = paper(page), page.locator("#theme")
    assert button.inner_text() == {"light": "Dark page", "dark": "Light page"}[wish]
    button.click()
    other = paper(page)
    assert other != first
    page.emulate_media(color_scheme="dark" if wish == "light" else "light")
    assert paper(page) == other
    button.click()
    assert paper(page) == first
    assert button.get_attribute("aria-pressed") == str(wish == "dark").lower()


def test_print_has_white_paper_more_rows_and_no_controls(opened):
    many = (("race", ("a", "b", "c", "d")),)
    page = opened(
        render(audits.make_audit(n_tasks=120, attributes=many)), color_scheme="dark"
    )
    assert page.locator("details:not([open])").count() > 0
    click(page, "Next")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert paper(page) == "rgb(255, 255, 255)"
    for hidden in ("nav", "#theme", "#task-controls", ".buttons"):
        assert page.locator(hidden).is_hidden()
    assert len(rows(page)) == 100
    assert page.locator("#task-status").inner_text() == "Rows 1 to 100 of 120 tasks"
    assert page.locator("#task-status").is_visible()
    assert page.locator("details:not([open])").count() == 0
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("#task-status").inner_text() == "Rows 26 to 50 of 120 tasks"
    assert page.locator("details:not([open])").count() > 0


def test_the_page_prints(opened):
    page = opened(render(audits.make_audit()))
    pdf = page.pdf(format="A4")
    assert pdf.startswith(b"%PDF")
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 12
    assert len(rows(page)) == 25


@pytest.mark.parametrize("models", [("m",), ("before", "after")])
def test_ten_thousand_tasks_are_quick_and_small(opened, models):
    html = render(
        audits.make_audit(n_tasks=10_000, models=models, label="{:05d} office")
    )
    assert len(html.encode()) < 1_000_000
    assert "The page holds" not in html
    page = opened(html)
    page.wait_for_function("performance.timing.loadEventEnd > 0")
    took = page.evaluate(
        "performance.timing.loadEventEnd - performance.timing.navigationStart"
    )
    assert took < 3000
    assert len(rows(page)) == 25
    sorting = page.evaluate(
        """() => {
          const from = performance.now();
          document.querySelector("[data-sort=gap] button").click();
          document.body.getBoundingClientRect();
          return performance.now() - from;
        }"""
    )
    assert sorting < 1000
    click(page, "Last")
    assert "9,976 to 10,000 of 10,000" in page.locator("#task-status").inner_text()


@pytest.mark.parametrize("name", ["two groups, two models", "hostile"])
def test_nothing_sticks_out_at_any_width(opened, name):
    page = opened(render(audits.make_audit(**audits.AUDITS[name])))
    for width in (320, 390, 768, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("wish", ["light", "dark"])
def test_every_text_can_be_read(opened, wish):
    page = opened(render(audits.make_audit(n_tasks=10)), color_scheme=wish)
    for media in ("screen", "print"):
        page.emulate_media(media=media)
        found = page.evaluate(chromium.LEGIBLE)
        assert len(found) > 150
        assert [text for text, contrast, _ in found if contrast < 4.5] == []


def test_the_keyboard_is_enough(opened):
    page = opened(render(audits.make_audit()))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "theme"
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(outline) == "solid"
    before = paper(page)
    page.keyboard.press("Enter")
    assert paper(page) != before
    page.locator("[data-sort=task] button").focus()
    page.keyboard.press("Space")
    assert page.locator("[data-sort=task]").get_attribute("aria-sort") == "ascending"
    assert page.evaluate("document.activeElement.textContent") == "Task"


def test_in_a_notebook_the_page_unfolds_in_its_own_frame(opened):
    audit = audits.make_audit(n_tasks=500, title="<b>A</b> \"notebook\" & 'page'")
    host = f"<!doctype html><title>notebook</title><body>{render_fragment(audit)}"
    page = opened(host, quiet=False)
    assert page.locator("strong").inner_text() == audit.title
    page.locator("summary").click()
    frame = page.frame_locator("iframe")
    frame.locator("#theme").click()
    assert frame.locator("h1").inner_text() == audit.title
    assert frame.locator("#task-rows tr").count() == 25
    assert paper(page) == "rgba(0, 0, 0, 0)"
    assert page.evaluate("violations") == []


def test_words_and_numbers_stay_whole_on_a_phone(opened):
    groups = (("gender", ("female", "male")),)
    page = opened(render(audits.make_audit(attributes=groups, n_tasks=3)))
    page.set_viewport_size({"width": 375, "height": 800})
    broken = page.evaluate(
        """() => [...document.querySelectorAll("table bdi, table .value")]
          .filter((e) => e.getClientRects().length > 1 && !/\\s/.test(e.textContent))
          .map((e) => e.textContent)"""
    )
    assert broken == []


def test_counts_beside_long_names_stay_whole_on_a_phone(opened):
    groups = (("origin", ("a name of many words " * 5, "wordwithoutend" * 7)),)
    page = opened(render(audits.make_audit(attributes=groups, n_tasks=0)))
    page.set_viewport_size({"width": 375, "height": 800})
    counts = page.locator(".key .muted")
    assert counts.count() >= 2
    tall = counts.evaluate_all("all => all.map((e) => e.getClientRects()[0].height)")
    size = counts.first.evaluate("e => parseFloat(getComputedStyle(e).fontSize)")
    assert max(tall) < 2 * size
