"""Run, keep, print, write."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ..marks import put
from .cases import DATA
from .choice import CHOICE, compared
from .cost import cost
from .methods import FairWasserstein, measured
from .page import against, choice_summary, choices, costs, figures, summary
from .points import Results, load, save

STORE = Path("results") / "post"


def run(name: str, resume: bool) -> Results:
    """Measure the splits of a dataset that are not there; keep each."""
    data, path = DATA[name], STORE / f"{name}.json"
    found = load(path) if resume else {}
    done = min((len(values) for values in found.values()), default=0)
    for seed in range(done, data.splits):
        for point, values in measured(data.draw(seed)):
            found.setdefault(point, []).append(values)
        save(path, found)
        print(f"{name}: {seed + 1}/{data.splits}", flush=True)
    return Results(name, data.title, data.splits, found)


def run_all(names: Sequence[str], resume: bool) -> tuple[list[Results], str]:
    """Run the datasets whose files are there; say which are not."""
    results, absent = [], []
    for name in names:
        try:
            results.append(run(name, resume))
        except OSError as error:
            print(f"{name}: left out. {error}", flush=True)
            absent.append(DATA[name].title)
    return results, f"  Left out for want of files: {', '.join(absent)}." * bool(absent)


def versions() -> str:
    """The packages that the figures depend on."""
    names = ("equipy", "scikit-learn", "scipy", "numpy")
    shown = []
    for name in names:
        try:
            shown.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            shown.append(f"no {name}")
    return f"Measured with {', '.join(shown)}."


def write(
    folder: Path,
    results: Sequence[Results],
    absent: str,
    ratios: dict[str, float] | None,
    chosen: Sequence[Results],
) -> None:
    """Put tables and picture into the page."""
    from .picture import picture

    page = folder / "maps.md"
    if results:
        put(page, "versions", versions() + absent)
        put(page, "summary", summary(results))
        put(page, "against", against(results))
        put(page, "figures", figures(results))
        picture(results, folder / "images" / "maps.png")
    if ratios:
        put(page, "cost", costs(ratios))
    if chosen:
        put(page, "choice", f"{choice_summary(chosen)}\n\n{choices(chosen)}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.post")
    parser.add_argument("names", nargs="*", help=f"cost, choice, {', '.join(DATA)}")
    parser.add_argument("--resume", action="store_true", help="keep splits there are")
    parser.add_argument("--write", type=Path, help="the folder of maps.md")
    given = parser.parse_args()
    every = [*DATA, "cost", "choice"]
    wanted = given.names or every
    unknown = [name for name in wanted if name not in every]
    if unknown:
        parser.error(f"no such case: {unknown[0]}; there are {every}")
    if FairWasserstein is None:
        print("EquiPy is not installed: its rows are left out.")
    ratios = cost() if "cost" in wanted else None
    chosen = [compared(name) for name in CHOICE] if "choice" in wanted else []
    names = [name for name in wanted if name in DATA]
    results, absent = run_all(names, given.resume)
    if results:
        print(f"\n{figures(results)}\n\n{against(results)}\n\n{summary(results)}")
    if ratios:
        print(f"\n{costs(ratios)}")
    if chosen:
        print(f"\n{choice_summary(chosen)}\n\n{choices(chosen)}")
    if given.write:
        write(given.write, results, absent, ratios, chosen)


if __name__ == "__main__":
    main()
