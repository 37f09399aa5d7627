"""Print constraints for pip: each dependency of the package at its lowest version.

What tests need beside it (extras ``dev``, ``docs``, ``boosters``) is as new as pip
likes, up to releases that warn of what the lowest versions do: in tests warnings are
errors, to users they are not.
"""

import re
import sys
import tomllib
from pathlib import Path

TOOLS = ("boosters", "dev", "docs")
# Of matplotlib 3.8 and of the checks of scikit-learn 1.6.
BEFORE_WARNINGS = ("pyparsing<3.3", "pytest<9.1")


def lowest(project: dict) -> list[str]:
    """Return ``name==version`` for the requirements of a table ``[project]``."""
    extras = project["optional-dependencies"]
    asked = [*project["dependencies"]]
    asked += [each for name in extras if name not in TOOLS for each in extras[name]]
    found = (re.match(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", each) for each in asked)
    return sorted({f"{each[1]}=={each[2]}" for each in found if each})


def main() -> int:
    """Print them."""
    path = Path(__file__).parents[1] / "pyproject.toml"
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    found = [*lowest(project), *BEFORE_WARNINGS]
    sys.stdout.write("".join(f"{each}\n" for each in found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
