"""Type checkers read the built package as its users see it."""

import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest
from sklearn.linear_model import Ridge

from far_apart import FRAME, TASK, Y
from rankfair import (
    DecisionBoundaryCovariance,
    MultiTaskRegressor,
    RankFairPostprocessor,
    RankFairRegressor,
    RankFairRegressorCV,
    StratifiedEqualMeans,
    TiltedRegressor,
)

ROOT = Path(__file__).parent.parent
RIGHT = """
import numpy as np
from sklearn.linear_model import Ridge  # type: ignore[import-untyped,unused-ignore]

from rankfair import RankFairPostprocessor, RankFairRegressor, TiltedRegressor
from rankfair import audit, certify_predictions

X, y = np.zeros((4, 2)), np.zeros(4)
model = RankFairRegressor(0.05, penalty="ridge", sensitive_features=1)
status: str = model.fit(X, y).status_
gap: float = abs(model.rank_auc_ - 0.5)
slopes: float = model.coef_.mean() + model.at(0.1).loo_auc_
refitted = TiltedRegressor(Ridge(), 0.05, side="upper").fit(X, y)
error: float = refitted.objective_
moved = RankFairPostprocessor(Ridge(), method="line", constraints="mean").fit(X, y)
distance: float = moved.ks_
bound: float = certify_predictions(y, y > 0).bound
page = audit(y, {"a": y}, sensitive_features=y > 0).to_html("a.html")
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """An example project with the wheel installed: right code, and a wrong option."""
    folder = tmp_path_factory.mktemp("project")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir"]
    subprocess.run([*build, str(folder), str(ROOT)], check=True, capture_output=True)
    venv.create(folder / "env", symlinks=True)
    python = folder / "env" / "bin" / "python"
    where = {"base": str(folder / "env"), "platbase": str(folder / "env")}
    site = Path(sysconfig.get_path("purelib", vars=where))
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    # What the package stands on is that of these tests.
    (site / "others.pth").write_text(sysconfig.get_path("purelib"))
    (folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "basic"}')
    (folder / "right.py").write_text(RIGHT)
    (folder / "wrong.py").write_text(RIGHT.replace('"ridge"', '"nope"'))
    return folder, str(python)


CHECKERS = {
    "mypy": [
        *(sys.executable, "-m", "mypy", "--strict", "--cache-dir"),
        *(str(ROOT / ".mypy_cache" / "wheel"), "--python-executable"),
    ],
    "pyright": [f"{sysconfig.get_path('scripts')}/pyright", "--pythonpath"],
}


@pytest.mark.parametrize("checker", CHECKERS)
def test_right_code_passes_and_wrong_options_do_not(checker, project):
    folder, python = project
    command = [*CHECKERS[checker], python, "right.py", "wrong.py"]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=folder, check=False
    )
    errors = [line for line in done.stdout.splitlines() if "error:" in line]
    assert len(errors) == 1, done.stdout + done.stderr
    assert "wrong.py" in errors[0] and "nope" in errors[0] and "penalty" in errors[0]


COLUMNS = {"tasks": "town", "sensitive_features": "sex"}


@pytest.mark.parametrize(
    "model",
    [
        RankFairRegressor(0.1, **COLUMNS),
        RankFairRegressorCV([1.0], epsilon=0.1, cv=2, random_state=0, **COLUMNS),
        MultiTaskRegressor(tasks="town"),
        TiltedRegressor(Ridge(), 0.1, cv=None, sensitive_features="sex"),
        RankFairPostprocessor(Ridge(), 0.1, blind=True, sensitive_features="sex"),
        DecisionBoundaryCovariance(**COLUMNS),
        StratifiedEqualMeans(2, **COLUMNS),
    ],
    ids=lambda model: type(model).__name__,
)
def test_all_that_a_fit_finds_is_declared(model):
    meta = isinstance(model, RankFairPostprocessor | TiltedRegressor)
    rows = FRAME if meta else FRAME.assign(town=TASK)
    if isinstance(model, MultiTaskRegressor):
        rows = rows.drop(columns="sex")
    model.fit(rows, Y)
    declared = {
        name
        for kind in type(model).__mro__
        for name in vars(kind).get("__annotations__", ())
    }
    found = {name for name in vars(model) if name.endswith("_")}
    assert found <= declared
