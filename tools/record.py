"""Record what the package gives, to compare with after a change.

    python tools/record.py before.json                   write a record
    python tools/record.py after.json --against before.json

A record holds at least 300 fits, which cover every pair of options, with their status,
objective, AUC and CPU time, or the sentence that refuses them; an audit, a path and a
comparison; the JSON of every command; and the sentence of other refusals.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rankfair import RankFairRegressor, TiltedRegressor, audit, fairness_path
from rankfair.datasets.synthetic import make_biased_tasks

Options = dict[str, Any]

SIZE = 12, 40  # tasks and rows a task
CHOICES: dict[str, tuple[Any, ...]] = {
    "penalty": ("pool", "ridge", "task", "feature", "shared"),
    "constraints": (
        "rank",
        "mean",
        "residual",
        "distribution",
        ["rank", "mean"],
        ["rank", "residual"],
    ),
    "scope": ("global", "task", "both"),
    "count": ("loo", "train"),
    "direction": ("mean", "density"),
    "solver": ("tilt", "ncadmm", "paper"),
    "blind": (True, False),
    "side": ("both", "upper"),
    "beta": ("auto", 1.0),
    "epsilon": (0.0, 0.05),
    "standardize": (True, False),
    "groups": ("two", "three", "unknown", "columns", "combined", "bins"),
    "weights": ("none", "whole", "real"),
    "tasks": ("even", "uneven", "none"),
}
DEFAULT: Options = {name: values[0] for name, values in CHOICES.items()}
MORE = 120  # random combinations beside those that cover the pairs
CLOSE = 1e-3  # of an objective: a difference that is listed


def combinations(rng: np.random.Generator) -> Iterator[Options]:
    """Each option alone, each pair of options, and some combinations at random.

    A pair stands beside the defaults of all other options, which most pairs go with.
    """
    seen = set()
    pairs = itertools.combinations(CHOICES, 2)
    for one, other in pairs:
        for first, second in itertools.product(CHOICES[one], CHOICES[other]):
            options = {**DEFAULT, one: first, other: second}
            key = json.dumps(options)
            if key not in seen:
                seen.add(key)
                yield options
    for _ in range(MORE):
        yield {
            name: values[int(rng.integers(len(values)))]
            for name, values in CHOICES.items()
        }


def rows_for(options: Options) -> tuple[pd.DataFrame, np.ndarray, Options, Any]:
    """A frame, the target, what the model is told of columns, and weights."""
    data = make_biased_tasks(*SIZE, random_state=0)
    frame, y = data.frame.copy(), np.asarray(data.target)
    rng = np.random.default_rng(1)
    n = len(frame)
    columns: Options = {"sensitive_features": "z"}
    match options["groups"]:
        case "three":
            frame["z"] = np.where(rng.random(n) < 0.3, "third", frame["z"])
        case "unknown":
            frame["z"] = frame["z"].astype(object)
            frame.loc[rng.random(n) < 0.1, "z"] = None
        case "columns" | "combined":
            frame["old"] = rng.integers(2, size=n)
            columns["sensitive_features"] = ["z", "old"]
            columns["intersect"] = options["groups"] == "combined"
        case "bins":
            frame["z"] = (frame["z"] == frame["z"].max()) + rng.random(n)
            columns["bins"] = 3
    match options["tasks"]:
        case "none":
            frame = frame.drop(columns="task")
        case "uneven":
            frame["task"] = (rng.random(n) ** 3 * SIZE[0]).astype(int)
    if options["tasks"] != "none":
        columns["tasks"] = "task"
    weights = {
        "none": None,
        "whole": rng.integers(1, 4, n),
        "real": rng.uniform(0.5, 1.5, n),
    }[options["weights"]]
    return frame, y, columns, weights


def fitted(options: Options) -> Options:
    """What one fit comes to, or the sentence that refuses it."""
    frame, y, columns, weights = rows_for(options)
    own = {k: v for k, v in options.items() if k not in ("groups", "weights", "tasks")}
    model = RankFairRegressor(**own, **columns, random_state=0)
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(frame, y, sample_weight=weights)
    except ValueError as error:
        return {"options": options, "refused": str(error)}
    return {
        "options": options,
        "status": model.status_,
        "objective": float(model.objective_),
        "auc": float(model.rank_auc_),
        "loo_auc": float(model.loo_auc_),
        "rmse": float(np.sqrt(np.mean((model.predict(frame) - y) ** 2))),
        "seconds": time.process_time() - start,
    }


def other_results() -> Options:
    """An audit, a path and refits, in numbers."""
    data = make_biased_tasks(*SIZE, random_state=0)
    frame, y = data.frame, np.asarray(data.target)
    model = RankFairRegressor(0.05, tasks="task", sensitive_features="z")
    model.fit(frame, y)
    from sklearn.linear_model import Ridge

    tilted = TiltedRegressor(Ridge(), 0.05, sensitive_features="z", random_state=0)
    tilted.fit(frame, y)
    report = audit(
        y, model.loo_predictions_, sensitive_features=frame["z"], tasks=frame["task"]
    )
    path = fairness_path(model, frame, y)
    return {
        "audit": report.to_dict(),
        "path": [row._asdict() for row in path.rows],
        "tilted": {"status": tilted.status_, "auc": float(tilted.rank_auc_)},
    }


COMMANDS = (
    "audit rows.csv --target y --sensitive z --task task --json",
    "fit rows.csv --target y --sensitive z --task task -o model.rankfair --json",
    "describe model.rankfair --json",
    "predict model.rankfair rows.csv -o predicted.csv",
    "path rows.csv --target y --sensitive z --task task --json",
    "compare rows.csv --target y --sensitive z --task task --folds 3 --json",
    # Refusals:
    "audit rows.csv --target nope --sensitive z",
    "audit rows.csv --target y --sensitive x1",
    "audit nowhere.csv --target y --sensitive z",
    "fit rows.csv --target y --sensitive z --epsilon 2",
    "fit rows.csv --target y --sensitive z --penalty nope",
    "fit rows.csv --target z --sensitive z",
    "path rows.csv --target y --sensitive z --constraint mean",
    "compare rows.csv --target y --sensitive z --folds 1",
    "predict rows.csv rows.csv",
    "describe rows.csv",
)


def commands() -> Options:
    """What every command prints, and how it ends."""
    found = {}
    data = make_biased_tasks(*SIZE, random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        frame = data.frame.assign(y=data.target)
        frame.to_csv(Path(folder) / "rows.csv", index=False)
        for line in COMMANDS:
            ran = subprocess.run(
                [sys.executable, "-m", "rankfair", *line.split()],
                cwd=folder,
                capture_output=True,
                text=True,
                env={**os.environ, "COLUMNS": "100"},
            )
            found[line] = {"exit": ran.returncode, "err": ran.stderr, "out": ran.stdout}
    return found


def differences(old: Options, new: Options) -> Iterator[str]:
    """What differs between two records, a line each."""
    key = json.dumps
    before = {key(it["options"]): it for it in old["fits"]}
    for it in new["fits"]:
        was = before.get(key(it["options"]))
        told = {
            name: value
            for name, value in it["options"].items()
            if value != DEFAULT[name]
        }
        if was is None:
            continue
        if was.get("status") != it.get("status"):
            yield f"status {was.get('status')} → {it.get('status')}: {told}"
        elif "objective" in it:
            ratio = it["objective"] / max(was["objective"], 1e-300)
            if not abs(ratio - 1) <= CLOSE:
                yield f"objective × {ratio:.4f}: {told}"
        elif was["refused"] != it["refused"]:
            yield f"refusal: {was['refused']} → {it['refused']}"
    for line, was in old["commands"].items():
        now = new["commands"].get(line)
        if now is None or now["exit"] != was["exit"]:
            yield f"exit of {line}: {was['exit']} → {now and now['exit']}"
        elif now["err"] != was["err"]:
            yield f"words of {line}: {was['err'].strip()} → {now['err'].strip()}"


def main() -> None:
    """Write a record, and compare it with another."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--against", type=Path)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    fits = [fitted(options) for options in combinations(rng)]
    record = {"fits": fits, **other_results(), "commands": commands()}
    given.out.write_text(json.dumps(record, indent=1, default=str), encoding="utf-8")
    worked = [it for it in fits if "status" in it]
    seconds = sum(it["seconds"] for it in worked)
    print(
        f"{len(worked)} fits in {seconds:.0f} s, {len(fits) - len(worked)} refused, "
        f"{len(COMMANDS)} commands"
    )
    if given.against:
        old = json.loads(given.against.read_text(encoding="utf-8"))
        lines = list(differences(old, record))
        print("\n".join(lines) or "Nothing differs.")


if __name__ == "__main__":
    main()
