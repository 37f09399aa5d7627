"""Run what the pages show and write the real output back into them.

A ```python block is run, and the ```text block after it becomes what it printed.  In a
```console block each line that starts with "$ " is run, and what follows it replaced.
Pages are README.md and those in docs/ that show an output.  The first pictures of the
README and of the demo are made anew as well.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
IMAGES = ROOT / "docs" / "images"
DEMO, WAGES = IMAGES / "frontier.svg", IMAGES / "wages.svg"

PYTHON = re.compile(r"```python\n(?P<code>.*?)```\n\n```text\n(?P<shown>.*?)```", re.S)
END = "-- end of a block --"
CONSOLE = re.compile(r"```console\n(?P<lines>.*?)```", re.S)
WRITTEN = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
PAGES = [
    page
    for page in WRITTEN
    if "_build" not in page.parts
    for text in [page.read_text(encoding="utf-8")]
    if PYTHON.search(text) or CONSOLE.search(text)
]


def refreshed(text: str, folder: Path) -> str:
    """Return a page with every output made anew; commands run in `folder`."""
    codes = [found["code"] for found in PYTHON.finditer(text)]
    printed = iter(_python(codes, folder))
    text = PYTHON.sub(
        lambda found: f"```python\n{found['code']}```\n\n```text\n{next(printed)}```",
        text,
    )
    return CONSOLE.sub(lambda found: _console(found["lines"], folder), text)


def _python(codes: list[str], folder: Path) -> list[str]:
    """Run blocks, each with names of its own, in one process; return their outputs."""
    if not codes:
        return []
    run = f"exec(code, {{'__name__': '__main__'}}); print({END!r})"
    printed = _run([sys.executable, "-c", f"for code in {codes!r}: {run}"], folder)
    return printed.split(f"{END}\n")[:-1]


def _console(lines: str, folder: Path) -> str:
    commands = [line for line in lines.splitlines() if line.startswith("$ ")]
    shown = []
    for command in commands:
        program, *options = command.removeprefix("$ ").split()
        assert program == "rankfair", f"not run here: {command}"
        # `-m` takes the package of this environment, whatever else is installed.
        shown.append(
            f"{command}\n{_run([sys.executable, '-m', program, *options], folder)}"
        )
    return "```console\n" + "\n".join(shown) + "```"


def _run(command: list[str], folder: Path) -> str:
    plain = {
        **os.environ,
        "COLUMNS": "80",
        "NO_COLOR": "1",
        "PYTHONIOENCODING": "utf-8",
    }
    done = subprocess.run(
        command,
        cwd=folder,
        env=plain,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


def main() -> None:
    """Rewrite the pages, or those named, and their pictures."""
    from tools.wages_picture import picture

    named = [Path(name).resolve() for name in sys.argv[1:]]
    for page in named or PAGES:
        with tempfile.TemporaryDirectory() as folder:
            text = page.read_text(encoding="utf-8")
            page.write_text(refreshed(text, Path(folder)), encoding="utf-8")
            if (Path(folder) / "demo").exists():
                shutil.copy(Path(folder) / "demo" / DEMO.name, DEMO)
    WAGES.write_bytes(picture())


if __name__ == "__main__":
    main()
