"""Run the tests that fit, count and map as other processors would.

    python tools/test_cpus.py            every setting below
    python tools/test_cpus.py haswell    those whose name has the word

NumPy is told to leave out instructions, and OpenBLAS to take the kernels of another
processor.  Each run says what the two report of themselves; a setting that this
processor or this NumPy cannot have is said to be missing, and is no success.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
SETTINGS = {
    "as it is": {},
    "numpy without X86_V4": {"NPY_DISABLE_CPU_FEATURES": "X86_V4"},
    "numpy without X86_V3 and X86_V4": {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4"},
    "OpenBLAS Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "OpenBLAS Nehalem": {"OPENBLAS_CORETYPE": "Nehalem"},
    "OpenBLAS Prescott": {"OPENBLAS_CORETYPE": "Prescott"},
}
# What fits, counts and maps; the rest does not look at the last bit of a prediction.
TESTS = (
    "tests/test_line.py",
    "tests/estimators/test_promises.py",
    "tests/test_ties.py",
    "tests/test_reduction.py",
    "tests/estimators/test_baselines.py",
    "tests/test_projections.py",
    "tests/test_ranks.py",
    "tests/solvers",
    "tests/projections",
    "tests/postprocess",
    "src/rankfair/estimators",
    "src/rankfair/solvers",
    "src/rankfair/reduction",
    "src/rankfair/postprocess",
    "src/rankfair/projections",
)
PROBE = """
import json, warnings
warnings.simplefilter("ignore")
import numpy
from numpy._core._multiarray_umath import __cpu_features__ as features
import scipy.linalg
from threadpoolctl import threadpool_info
blas = {each.get("architecture") for each in threadpool_info()}
have = [name for name, on in features.items() if on]
print(json.dumps({"numpy": have, "blas": sorted(filter(None, blas))}))
"""


def probe(env: dict[str, str]) -> tuple[dict[str, list[str]] | None, str]:
    """What NumPy and OpenBLAS report of themselves, and what they complain of."""
    found = subprocess.run(
        [sys.executable, "-c", PROBE], env=env, capture_output=True, text=True
    )
    if found.returncode:
        return None, found.stderr.strip().splitlines()[-1]
    return json.loads(found.stdout), ""


def missing(setting: dict[str, str], plain: dict, report: dict) -> str:
    """Why a setting is not what it says, or nothing."""
    for word in setting.get("NPY_DISABLE_CPU_FEATURES", "").split():
        if word in report["numpy"]:
            return f"NumPy still uses {word}"
    kernel = setting.get("OPENBLAS_CORETYPE")
    if kernel and report["blas"] == plain["blas"]:
        return f"OpenBLAS uses {', '.join(report['blas'])} all the same"
    if setting and report == plain:
        return "it changes nothing here: this processor lacks what is left out"
    return ""


def main() -> None:
    """Run every setting and exit with 1 if any test fails."""
    words = [word.lower() for word in sys.argv[1:]]
    there = [each for each in TESTS if (ROOT / each).exists()]
    plain, why = probe(dict(os.environ))
    if plain is None:
        sys.exit(f"NumPy does not load: {why}")
    failed, lacked = [], []
    for name, setting in SETTINGS.items():
        if words and not any(word in name.lower() for word in words):
            continue
        env = {**os.environ, **setting, "OMP_NUM_THREADS": "1"}
        env["PYTHONWARNINGS"] = "ignore::RuntimeWarning:numpy,ignore::ImportWarning"
        report, why = probe(env)
        why = why or missing(setting, plain, report or {})
        if why:
            print(f"{name}: missing, {why}", flush=True)
            lacked.append(name)
            continue
        simd = [each for each in report["numpy"] if each.startswith(("X86", "AVX"))]
        blas = ", ".join(report["blas"]) or "unknown"
        print(f"{name}: NumPy {' '.join(simd)}; OpenBLAS {blas}", flush=True)
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--no-cov", *there]
        command += ["-p", "no:cacheprovider"]
        if subprocess.run(command, env=env, cwd=ROOT).returncode:
            failed.append(name)
    if lacked:
        print(f"Not tried on this processor: {'; '.join(lacked)}.")
    if failed:
        sys.exit(f"Tests fail with: {'; '.join(failed)}.")


if __name__ == "__main__":
    main()
