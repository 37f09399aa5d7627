"""Write docs/cli.md from the help of every command."""

import sys
from pathlib import Path
from typing import Any

from typer.main import get_command

from rankfair.cli.app import app

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
HEAD = """# The command line

Made by `make cli-page` from the help of the commands.

Files are CSV, Excel or Parquet; `-` is a pipe. How they are read is in
[reading and writing tables](reading-files.md), what model files hold in
[model files](model-files.md).

| code | a command ended because |
|---|---|
| 0 | it did what was asked; with `--max-gap`, the rank gap is at most that, or equal |
| 1 | the rank gap exceeds `--max-gap` |
| 2 | of bad usage or bad data; a sentence says what, and what helps |
| 3 | what was asked for cannot be estimated from these rows |
| 70 | of a fault of rankfair: please report it; `RANKFAIR_TRACEBACK=1` shows where |
| 130 | it was stopped by Ctrl-C |
| 129, 143 | its terminal was closed, or it was told to end (SIGHUP, SIGTERM) |
| 141 | the reader of its pipe went away |

With `--json` the answer alone is on standard output, and notes on standard error. The
schemas are [audit](audit.schema.json), [fit](fit.schema.json), [path](path.schema.json)
and [compare](compare.schema.json). `NO_COLOR` asks for plain text, `--quiet` for the
answer only; `rankfair --install-completion` teaches the shell the options.
"""


def page() -> str:
    """Return the page."""
    root: Any = get_command(app)
    commands = root.commands.items()
    index = [
        f"- [`rankfair {n}`](#rankfair-{n}): {_first(c.help)}" for n, c in commands
    ]
    sections = [_section(name, command) for name, command in commands]
    return "\n".join([HEAD, *index, "", *sections])


def _first(text: str) -> str:
    return text.strip().partition("\n\n")[0].replace("\n", " ")


def _section(name: str, command: Any) -> str:
    paragraphs = [" ".join(part.split()) for part in command.help.split("\n\n")]
    example = next(each for each in paragraphs if each.startswith("Example: "))
    prose = "\n\n".join(each for each in paragraphs if each != example)
    shown = [each for each in command.params if not getattr(each, "hidden", False)]
    shown.sort(key=lambda each: each.param_type_name != "argument")
    rows = [_row(each) for each in shown if each.name != "help"]
    return (
        f"## rankfair {name}\n\n{prose}\n\n"
        f"    {example.removeprefix('Example: ')}\n\n"
        "| option | default | meaning |\n|---|---|---|\n" + "\n".join(rows) + "\n"
    )


def _row(option: Any) -> str:
    flags = [f"`{flag}`" for flag in (*option.opts, *option.secondary_opts)]
    if option.param_type_name == "argument":
        flags = [f"`{option.metavar or option.name.upper()}`"]
    elif option.metavar and not option.is_flag:
        flags.append(f"`{option.metavar}`".replace("|", "\\|"))
    meaning = " ".join((option.help or "").split()).replace("|", "\\|")
    return f"| {' '.join(flags)} | {_default(option)} | {meaning} |"


def _default(option: Any) -> str:
    if option.required:
        return "needed"
    value = option.default
    if value is None or value is False or callable(value):
        return ""
    return f"`{getattr(value, 'value', value)}`"


def main() -> int:
    """Write it."""
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
