"""A real Chromium for the tests of pages, and pages that are watched while they run."""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
# Run in the page before anything else: what its own policy had to stop.
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation",
  (e) => violations.push(e.violatedDirective + " " + e.blockedURI));
"""

# Of every text that is seen: its size on the screen, and its contrast with what lies
# behind it.
LEGIBLE = r"""
() => {
  const rgb = (text) => text.match(/[\d.]+/g).map(Number);
  const light = (c) => {
    const [r, g, b] = c.map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const c = rgb(getComputedStyle(at).backgroundColor);
      if (c.length === 3 || c[3] > 0) return c.slice(0, 3);
    }
    return [255, 255, 255];
  };
  const out = [], skipped = "script, style, title, desc, .away, .skip, :disabled";
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !node.checkVisibility()) continue;
    if (node.closest(skipped)) continue;
    const style = getComputedStyle(node), inside = node.closest("svg");
    const ink = rgb(inside ? style.fill : style.color).slice(0, 3);
    const drawn = inside?.getBoundingClientRect().width;
    const scale = inside ? drawn / inside.viewBox.baseVal.width : 1;
    const [a, b] = [light(ink), light(behind(node))].sort((x, y) => y - x);
    out.push([walker.currentNode.data.trim().slice(0, 40), (a + 0.05) / (b + 0.05),
      parseFloat(style.fontSize) * scale]);
  }
  return out;
}
"""


def find(playwright):
    """Return the path of a browser, or None."""
    own = playwright.chromium.executable_path
    places = [os.environ.get("RANKFAIR_CHROMIUM"), own, *map(shutil.which, NAMES)]
    return next((path for path in places if path and Path(path).exists()), None)


@contextmanager
def started():
    """Start a browser, or skip the test and say why."""
    api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed"
    )
    with api.sync_playwright() as playwright:
        path = find(playwright)
        if path is None:
            pytest.skip(
                "no Chromium here: set RANKFAIR_CHROMIUM to one, or install it "
                "(apt-get install chromium, or playwright install chromium)"
            )
        browser = playwright.chromium.launch(executable_path=path)
        yield browser
        browser.close()


class Watched:
    """A page that is offline, with all that it said, asked for and was refused."""

    def __init__(self, browser, file, **context):
        self.context = browser.new_context(offline=True, **context)
        self.said, self.asked = [], []
        self.page = self.context.new_page()
        self.page.set_default_timeout(10_000)
        self.page.add_init_script(WATCH)
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", self._dialog)
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.url = file.as_uri()
        self.page.goto(self.url)

    def _dialog(self, dialog):
        self.said.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def violations(self):
        return self.page.evaluate("window.violations")

    def check_quiet(self):
        """Nothing was said, asked for beyond the file itself, or refused."""
        assert self.said == []
        assert self.asked == [self.url]
        assert self.violations() == []
