"""Run the tests that fit, count and map as other processors would run them.

NumPy and OpenBLAS choose their loops by the processor, and sums in another order end in
other last bits.  What a fit says of itself must not hang on them.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
NUMPY, OPENBLAS = "NPY_DISABLE_CPU_FEATURES", "OPENBLAS_CORETYPE"
# What fits, counts or maps; few seeds of the long tests.
PART = [
    "src/rankfair/balances",
    "src/rankfair/baselines",
    "src/rankfair/engines",
    "src/rankfair/estimators",
    "src/rankfair/models",
    "src/rankfair/path",
    "src/rankfair/postprocess",
    "src/rankfair/projections",
    "src/rankfair/reduction",
    "src/rankfair/solvers",
    "src/rankfair/linear.py",
    "src/rankfair/problem.py",
    "src/rankfair/ranks.py",
    "src/rankfair/_regressor.py",
    "tests/balances",
    "tests/models/test_files.py",
    "tests/models/test_onnx.py",
    "tests/postprocess",
    "tests/projections",
    "tests/solvers",
    "tests/test_attributes.py",
    "tests/test_baselines.py",
    "tests/test_estimators.py",
    "tests/test_last_bits.py",
    "tests/test_linear.py",
    "tests/test_problem.py",
    "tests/test_promises.py",
    "tests/test_ranks.py",
    "tests/test_readme.py",
    "tests/test_reduction.py",
    "tests/test_reduction_groups.py",
    "tests/test_reduction_maps.py",
    "tests/test_scope.py",
    "tests/test_segments.py",
    "tests/test_several_balances.py",
]
SEEDS = {"RANKFAIR_SEEDS": "2"}

# A product of matrices, too: kernels that the processor cannot run end the process.
REPORT = """
import json
import numpy as np
import scipy.linalg
import threadpoolctl
from numpy._core._multiarray_umath import (
    __cpu_baseline__, __cpu_dispatch__, __cpu_features__
)
scipy.linalg.solve(np.ones((9, 9)) @ np.ones((9, 9)) + np.eye(9), np.ones(9))
blas = [each for each in threadpoolctl.threadpool_info() if each["user_api"] == "blas"]
print(json.dumps({
    "numpy": np.__version__,
    "dispatch": __cpu_dispatch__,
    "enabled": [x for x in __cpu_baseline__ + __cpu_dispatch__ if __cpu_features__[x]],
    "blas": sorted({each.get("architecture", each["internal_api"]) for each in blas}),
}))
"""


class Setting(NamedTuple):
    """A variable of the environment, and its value."""

    name: str
    value: str

    def __str__(self) -> str:
        return f'{self.name}="{self.value}"'


SETTINGS = (
    Setting(NUMPY, "X86_V4"),
    Setting(NUMPY, "X86_V3 X86_V4"),
    *(Setting(OPENBLAS, core) for core in ("Haswell", "Nehalem", "Prescott")),
)


def environment(setting: Setting | None = None) -> dict[str, str]:
    """Return the environment of a process under a setting, or under none."""
    plain = {k: v for k, v in os.environ.items() if k not in (NUMPY, OPENBLAS)}
    return plain | {"OMP_NUM_THREADS": "1"} | dict([setting] if setting else [])


def report(setting: Setting | None = None) -> dict[str, Any] | str:
    """Return what NumPy and OpenBLAS say of themselves, or why they cannot run."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", REPORT],
        env=environment(setting),
        capture_output=True,
        text=True,
    )
    if done.returncode < 0:
        return f"the processor cannot run it (signal {-done.returncode})"
    if done.returncode:
        return done.stderr.strip().splitlines()[-1]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def lacking(setting: Setting) -> str | None:
    """Return why a setting is none here; None if it changes what is run."""
    plain, changed = report(), report(setting)
    if isinstance(plain, str) or isinstance(changed, str):
        return plain if isinstance(plain, str) else str(changed)
    if setting.name == NUMPY:
        for feature in setting.value.split():
            if feature not in plain["dispatch"]:
                return f"NumPy {plain['numpy']} does not know {feature}"
            if feature not in plain["enabled"]:
                return f"the processor lacks {feature}"
        kept = set(setting.value.split()) & set(changed["enabled"])
        return f"NumPy keeps {' '.join(sorted(kept))}" if kept else None
    if changed["blas"] != plain["blas"]:
        return None
    own = " ".join(plain["blas"])
    if own == setting.value:
        return f"{own} is what OpenBLAS takes by itself: make test runs it"
    return f"OpenBLAS stays with {own}: this build, or the processor, has no other"


def shown(found: dict[str, Any]) -> str:
    """Return a report as a line."""
    enabled, blas = " ".join(found["enabled"]), " ".join(found["blas"])
    return f"NumPy {found['numpy']} with {enabled}; OpenBLAS {blas}"


def main() -> int:
    """Run the part under every setting; return how many failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tests", nargs="*", default=PART, help="files and folders")
    tests = parser.parse_args().tests
    plain = report()
    say(f"as it is: {plain if isinstance(plain, str) else shown(plain)}")
    ended: dict[Setting, str] = {}
    for setting in SETTINGS:
        say(f"\n{setting}")
        found, why = report(setting), lacking(setting)
        if why is not None or isinstance(found, str):
            ended[setting] = f"not run: {why}"
            say(ended[setting])
            continue
        say(shown(found))
        start = time.monotonic()
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", *tests]
        done = subprocess.run(command, cwd=ROOT, env=environment(setting) | SEEDS)
        took = f"{time.monotonic() - start:.0f} s"
        ended[setting] = f"{'FAILED' if done.returncode else 'passed'} in {took}"
    say("")
    for setting, how in ended.items():
        say(f"{setting!s:42} {how}")
    return sum(how.startswith("FAILED") for how in ended.values())


def say(line: str) -> None:
    """Print at once, between what the tests print."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
