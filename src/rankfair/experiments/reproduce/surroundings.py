"""What the records depend on beside settings and data: code, libraries, machine."""

from __future__ import annotations

import ast
import hashlib
import platform
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from rankfair import __version__

__all__ = ["code_files", "describe"]

PACKAGE = Path(__file__).parents[2]
ROOT = "rankfair.experiments.reproduce.work"
LIBRARIES = ("numpy", "scipy", "scikit-learn")


def describe() -> dict[str, str]:
    """Return all of it by name, as it goes to run.json.

    Returns
    -------
    dict
        A hash of the code, versions, the kind of machine, and its linear algebra.

    Examples
    --------
    >>> list(describe())[:3]
    ['code of rankfair', 'version of rankfair', 'version of Python']
    """
    return {
        "code of rankfair": _hash(code_files()),
        "version of rankfair": __version__,
        "version of Python": platform.python_version(),
        **{f"version of {name}": version(name) for name in LIBRARIES},
        "machine": platform.machine(),
        "BLAS": _blas(),
    }


def code_files(root: str = ROOT) -> list[Path]:
    """Return the files of this package that a module needs: what it imports, and so on.

    What draws and writes pages is not among them: it changes no record.

    Parameters
    ----------
    root : str
        Full name of a module.

    Returns
    -------
    list of Path
        Sorted.

    Examples
    --------
    >>> names = {path.name for path in code_files()}
    >>> "tilt.py" in names, "bars.py" in names
    (True, False)
    """
    found: dict[str, Path] = {}
    waiting = [root]
    while waiting:
        name = waiting.pop()
        path = _file_of(name)
        if path is None or name in found:
            continue
        found[name] = path
        # The package itself loads its names on first use only.
        waiting += [name.rpartition(".")[0]]
        waiting += _imported(path) if name != "rankfair" else []
    return sorted(found.values())


def _file_of(name: str) -> Path | None:
    first, *rest = name.split(".")
    if first != "rankfair":
        return None
    path = PACKAGE.joinpath(*rest)
    for file in (path / "__init__.py", path.with_suffix(".py")):
        if file.is_file():
            return file
    return None


def _imported(path: Path) -> Iterator[str]:
    """Full names of all that a file imports, at any depth of its code."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _hash(files: list[Path]) -> str:
    found = hashlib.sha256()
    for path in files:
        found.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0")
        found.update(_statements(path).encode() + b"\0")
    return found.hexdigest()[:16]


def _statements(path: Path) -> str:
    """The code of a file without comments and docstrings: these change no record."""
    tree = ast.parse(path.read_bytes())
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            vars(node)["body"] = [it for it in body if not _is_text(it)]
    return ast.dump(tree)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _blas() -> str:
    """Name, version and kind of processor of what NumPy and SciPy compute with.

    Other packages may have brought their own, which no record depends on.
    """
    import scipy.linalg  # noqa: F401  (loads its library, if it has one of its own)

    # It comes with scikit-learn and has no types.
    from threadpoolctl import threadpool_info  # type: ignore[import-untyped]

    every = [library for library in threadpool_info() if library["user_api"] == "blas"]
    own = [library for library in every if _is_own(library["filepath"])] or every
    keys = ("internal_api", "version", "architecture")
    found = {
        " ".join(str(library[key]) for key in keys if library.get(key))
        for library in own
    }
    return ", ".join(sorted(found))


def _is_own(path: str) -> bool:
    """Whether a library lies in the folder of NumPy or of SciPy."""
    return any(part.startswith(("numpy", "scipy")) for part in Path(path).parts)
