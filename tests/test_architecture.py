"""The layers of ARCHITECTURE.md: a module imports only from rows above its own."""

import ast
import importlib
import itertools
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import rankfair

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "rankfair"

ROWS = (
    {"input"},
    {"datasets"},
    {"core", "engines"},
    {"penalties"},
    {"constraints"},
    {"projections"},
    {"solvers"},
    {"stats"},
    {"metrics", "paths", "audit"},
    {"estimators"},
    {"files"},
    {"report", "cli", "__main__"},
)
INPUT = ROWS[0]
# Tighter than their row: these know less than their place would allow.
ONLY = {
    "datasets": INPUT,
    "metrics": INPUT | {"core"},
}
# Names of the package itself that any module may import.
FREE_NAMES = {"__version__"}


def unit_of(path: Path, package: Path) -> str:
    """Return the module or folder directly below the package."""
    return path.relative_to(package).parts[0].removesuffix(".py")


def absolute_name(node: ast.ImportFrom, path: Path, package: Path) -> str:
    """Return the full name that a `from … import` reads from, dots resolved."""
    if node.level == 0:
        return node.module or ""
    parts = path.relative_to(package.parent).parts
    above = parts[: len(parts) - node.level]
    return ".".join([*above, *filter(None, [node.module])])


def imported_names(path: Path, package: Path) -> set[str]:
    """Return full names of everything a file imports, at any depth of the code."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = absolute_name(node, path, package)
            names |= {f"{module}.{alias.name}" for alias in node.names}
    return names


def allowed_units(unit: str) -> set[str]:
    row = next(i for i, names in enumerate(ROWS) if unit in names)
    above = set().union(*ROWS[: row + 1])
    return ONLY.get(unit, above) | {unit}


def violations(package: Path) -> list[str]:
    """Return a sentence for each import that breaks the rule."""
    known = set().union(*ROWS)
    found = []
    for path in sorted(package.rglob("*.py")):
        unit = unit_of(path, package)
        if unit == "__init__":
            continue
        if unit not in known:
            found.append(f"{unit} is in no row")
            continue
        for name in sorted(imported_names(path, package)):
            top, _, rest = name.partition(".")
            target = rest.partition(".")[0]
            if top != package.name or target in FREE_NAMES:
                continue
            if target not in allowed_units(unit):
                found.append(f"{unit} imports {target or 'the package itself'}")
    return found


def test_every_module_imports_only_from_rows_above():
    assert violations(PACKAGE) == []


def test_the_table_of_architecture_names_every_module_in_the_order_of_the_rows():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| \w+ \| (`.*?) \| .* \| .* \|$", text, re.M)
    named = [re.findall(r"`(\w+)(/?)`", cell) for cell in cells]
    for unit, folder in itertools.chain(*named):
        assert (PACKAGE / (unit if folder else f"{unit}.py")).exists(), unit
    row_of = {unit: i for i, row in enumerate(ROWS) for unit in row}
    places = [[row_of.pop(unit) for unit, _ in line] for line in named]
    assert set(row_of) == {"__main__"}
    assert all(max(a) < min(b) for a, b in itertools.pairwise(places))


def code_lines(path: Path) -> int:
    """Count lines that are neither blank, comment nor docstring."""
    text = path.read_text(encoding="utf-8")
    prose: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        if isinstance(node, kinds) and ast.get_docstring(node, clean=False):
            prose |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    lines = enumerate(text.split("\n"), 1)
    plain = (line.strip() for i, line in lines if i not in prose)
    return sum(bool(line) and not line.startswith("#") for line in plain)


def test_the_sizes_in_the_table_are_about_those_of_the_rooms():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for rooms, sizes in re.findall(r"^\| \w+ \| (`.*?) \| ([\d, ]+) \|", text, re.M):
        told = [int(size.replace(",", "")) for size in sizes.split(", ")]
        for (unit, folder), size in zip(
            re.findall(r"`(\w+)(/?)`", rooms), told, strict=True
        ):
            paths = PACKAGE.glob(f"{unit}/*.py" if folder else f"{unit}.py")
            assert size == pytest.approx(sum(map(code_lines, paths)), rel=0.1), unit


@pytest.mark.parametrize(
    ("file", "code", "sentence"),
    [
        ("core/ranks.py", "import rankfair.solvers.tilt", "core imports solvers"),
        ("solvers/tilt.py", "from ..audit import a", "solvers imports audit"),
        (
            "solvers/tilt.py",
            "def f():\n    from rankfair import cli",
            "solvers imports",
        ),
        (
            "datasets/wine.py",
            "from rankfair.core.ranks import r",
            "datasets imports core",
        ),
        ("audit.py", "import rankfair", "audit imports the package itself"),
        ("helpers.py", "", "helpers is in no row"),
    ],
)
def test_a_broken_rule_is_seen(tmp_path, file, code, sentence):
    path = tmp_path / "rankfair" / file
    path.parent.mkdir(parents=True)
    path.write_text(code)
    (found,) = violations(tmp_path / "rankfair")
    assert found.startswith(sentence)


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("rankfair", "sklearn scipy matplotlib pandas polars typer"),
        ("rankfair.cli", "sklearn scipy matplotlib pandas polars typer"),
        ("rankfair.cli.audit", "sklearn scipy.stats scipy.optimize matplotlib pandas"),
    ],
)
def test_importing_loads_nothing_heavy(module, heavy):
    heavy = set(heavy.split())
    code = f"import sys, {module}; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_all_names_exist_and_are_listed():
    for name in rankfair.__all__:
        assert getattr(rankfair, name) is not None
        assert name in dir(rankfair)
    plain = {name for name in dir(rankfair) if not name.startswith("__")}
    assert plain == set(rankfair.__all__)


def test_all_of_every_public_module_is_importable():
    for path in PACKAGE.rglob("*.py"):
        if path.stem == "__main__":
            continue
        name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        module = importlib.import_module(name.removesuffix(".__init__"))
        for public in getattr(module, "__all__", ()):
            assert hasattr(module, public), f"{module.__name__}.{public}"


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = rankfair.nonsense


def test_one_version_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/rankfair/__init__.py"
    assert f"version: {rankfair.__version__}" in citation
