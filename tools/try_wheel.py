"""Install a wheel into an empty environment and use it: ``try_wheel.py dist``."""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

MOST_BYTES = 1_000_000
# The extras are not installed yet: the package must not ask for them.
ALONE = """
import sys
import numpy as np
import rankfair
rng = np.random.default_rng(0)
z, X = np.repeat(["F", "M"], 50), rng.normal(size=(100, 2))
y = X[:, 0] + rng.normal(size=100)
model = rankfair.RankFairRegressor(0.02).fit(X, y, sensitive_features=z)
rankfair.audit(None, model.predict(X), sensitive_features=z)
extras = {"matplotlib", "typer", "rich", "polars", "jinja2", "dask", "onnx", "pyarrow"}
assert not extras & set(sys.modules), extras & set(sys.modules)
print(rankfair.__version__, model.status_)
"""


def main() -> int:
    """Try the one wheel of a folder."""
    (wheel,) = Path(sys.argv[1]).resolve().glob("*.whl")
    assert wheel.stat().st_size < MOST_BYTES, f"{wheel.stat().st_size} bytes"
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        programs = Path(folder) / ("Scripts" if sys.platform == "win32" else "bin")

        def run(program: str, *arguments: str) -> None:
            done = subprocess.run([programs / program, *arguments], cwd=folder)
            assert done.returncode == 0, (program, *arguments)

        run("python", "-m", "pip", "install", "--quiet", str(wheel))
        run("python", "-c", ALONE)
        run("python", "-m", "pip", "install", "--quiet", f"{wheel}[cli,plot]")
        run("rankfair", "--version")
        run("rankfair", "audit", "--help")
        run("rankfair", "demo", "--quiet")
        assert (Path(folder) / "demo" / "frontier.svg").exists()
    return 0


if __name__ == "__main__":
    sys.exit(main())
