"""The command `python -m paper`: options in, one function called, words out."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from paper.claims import evaluate
from paper.page import write_page
from paper.run import Result, reproduce
from paper.settings import DATASETS, QUICK, Settings, chosen_data, option_of, title_of
from paper.summary import Summary
from paper.tables import describe_failure

STOPPED = 130  # what a shell expects after Ctrl-C


def main(arguments: list[str] | None = None) -> int:
    """Run what is asked for; return 1 where a method failed."""
    asked = _parser().parse_args(arguments)
    try:
        result = reproduce(
            asked.out, _settings(asked), jobs=asked.jobs, quiet=asked.quiet
        )
    except KeyboardInterrupt:
        print(_kept("Stopped", asked.out), file=sys.stderr)
        return STOPPED
    except BrokenProcessPool:
        print(_kept("A worker process ended", asked.out), file=sys.stderr)
        return 2
    written = write_page(asked.docs or asked.out, result)
    _show(result, [asked.out / "records.csv", *written])
    return int(any("error" in record for record in result.records))


def _kept(what: str, out: Path) -> str:
    return f"{what}. What was finished is kept in {out}: the same command goes on."


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m paper",
        description="Make the paper's tables and figures again, its values beside. "
        "Data that is not found is named in the tables, and the rest runs. A run that "
        "was stopped goes on with the same command and gives the same files.",
    )
    names = ["synthetic", *map(option_of, DATASETS)]
    add = parser.add_argument
    add("--data", nargs="+", choices=names, metavar="NAME", help=", ".join(names))
    add("--repeats", type=_at_least(1), help="repeats of what is random (20)")
    add("--seed", type=_at_least(0), default=0, help="seed of all that is random (0)")
    add("--quick", action="store_true", help="minutes: 2 repeats, coarse grids")
    add("--no-figures", action="store_true", help="tables only")
    add("--jobs", type=_at_least(1), default=2, help="processes at work (2)")
    add("--out", type=Path, default=Path("results"), help="folder of the run (results)")
    add("--docs", type=Path, help="folder of the page (that of the run)")
    add("--quiet", action="store_true", help="show no progress, only the outcome")
    return parser


def _at_least(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        found = int(text)
        if found < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, got {text}")
        return found

    return number


def _settings(asked: argparse.Namespace) -> Settings:
    how = dict(QUICK) if asked.quick else {}
    if asked.repeats is not None:
        how["repeats"] = asked.repeats
    data = DATASETS if asked.data is None else chosen_data(asked.data)
    return Settings(data, asked.seed, figures=not asked.no_figures, **how)


def _show(result: Result, written: list[Path]) -> None:
    """Print what holds, what is missing or failed, and where the files are."""
    summary = Summary(result.records)
    for claim in evaluate(summary, result.there) if result.there else ():
        mark = "holds" if claim.holds else "does not hold"
        print(f"{mark}, {claim.held} of {claim.of} datasets: {claim.sentence}")
        for line in claim.figures:
            print(f"    {line.replace('**', '')}")
    for name, why in result.said.items():
        print(f"{title_of(name)} was not run: {why}")
    for failure in summary.failures():
        print(describe_failure(failure))
    for path in written:
        print(f"wrote {path}")


if __name__ == "__main__":
    sys.exit(main())
