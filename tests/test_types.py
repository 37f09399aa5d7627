"""Type checkers read the package as its users see it."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
RIGHT = """
import numpy as np
from sklearn.linear_model import Ridge

from rankfair import RankFairPostprocessor, RankFairRegressor, TiltedRegressor
from rankfair import audit, certify_predictions

X, y = np.zeros((4, 2)), np.zeros(4)
model = RankFairRegressor(0.05, penalty="ridge", sensitive_features=1)
status: str = model.fit(X, y).status_
gap: float = abs(model.rank_auc_ - 0.5)
refitted = TiltedRegressor(Ridge(), 0.05, side="upper").fit(X, y)
error: float = refitted.objective_
moved = RankFairPostprocessor(Ridge(), method="line", constraints="mean").fit(X, y)
distance: float = moved.ks_
bound: float = certify_predictions(y, y > 0).bound
page = audit(y, {"a": y}, sensitive_features=y > 0).to_html("a.html")
"""


def test_right_code_passes_and_wrong_options_do_not(tmp_path):
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text(RIGHT)
    wrong.write_text(RIGHT.replace('penalty="ridge"', 'penalty="nope"'))
    # The settings, and so the cache, of `make types`.
    done = subprocess.run(
        [sys.executable, "-m", "mypy", str(right), str(wrong)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    errors = [line for line in done.stdout.splitlines() if "error:" in line]
    assert len(errors) == 1, done.stdout + done.stderr
    assert "wrong.py" in errors[0]
    assert 'Argument "penalty"' in errors[0]
