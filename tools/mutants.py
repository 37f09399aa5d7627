"""Change the code in one place at a time, and see whether a test notices.

    python tools/mutants.py                                    what `make mutants` runs
    python tools/mutants.py --only stats/auc --tests tests/stats       a part, quicker

All tests run once to learn which of them execute which line.  Then each mutant, a copy
of the project with one change, is given to the tests that execute the changed line,
those of its own room first, until one fails.  They run in forks of a process that has
imported numpy and the like: most mutants then take a second or two.  The draw is fixed:
mutants are ordered by a hash of their names.  A name is made of file, function, line
and change, so it stays the same when lines move.  `mutants_equivalent.txt` lists, with
a reason each, mutants that no test can kill; they are left out.  The exit code is 1 if
less than 90 % are killed, or if the 95 % upper bound of one room (a folder of the
package) is below 85 %.
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import importlib
import itertools
import json
import math
import os
import queue
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from coverage import CoverageData
from hypothesis import Phase, settings

ROOT = Path(__file__).parent.parent
PACKAGE = "rankfair"
ROOMS = ("core", "penalties", "constraints", "solvers", "stats", "audit", "files")
COUNT, LEAST = 310, 30  # mutants in all, by the size of the rooms, and in a room
SECONDS = 30.0  # of tests a mutant, as they took without it
PROCESSES = 2
IMPORTED = ("numpy", "scipy.stats", "scipy.optimize", "sklearn.ensemble", "pandas")

SWAPS = {ast.Lt: ast.LtE, ast.Gt: ast.GtE, ast.Eq: ast.NotEq, ast.Is: ast.IsNot}
SWAPS |= {ast.In: ast.NotIn, ast.And: ast.Or, ast.BitAnd: ast.BitOr}
SWAPS |= {ast.Add: ast.Sub, ast.Mult: ast.Div}
SWAPS |= {new: old for old, new in SWAPS.items()}
SWAPS |= {ast.FloorDiv: ast.Div, ast.Mod: ast.Mult, ast.Pow: ast.Mult}
NEGATIONS = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
NAMES = {"min": "max", "minimum": "maximum", "any": "all", "argmin": "argmax"}
NAMES |= {"floor": "ceil", "nanmin": "nanmax"}
NAMES |= {new: old for old, new in NAMES.items()}
SIDES = {"left": "right", "right": "left"}
DROPPED = (ast.AugAssign, ast.Raise, ast.Continue, ast.Break, ast.Delete)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Mutant:
    """One change: the bytes from start to end of a file become new.

    Tests that execute one of the lines may notice.
    """

    file: str
    name: str
    lines: range
    start: int
    end: int
    new: str

    @property
    def room(self) -> str:
        """The folder of the file."""
        return self.file.partition("/")[0]

    def apply(self, source: bytes) -> bytes:
        """Return the source with the change."""
        return source[: self.start] + self.new.encode() + source[self.end :]


def altered(node: ast.AST, **fields: object) -> ast.AST:
    """Return a copy of a node with other fields."""
    other = copy.copy(node)
    vars(other).update(fields)
    return other


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST, ast.AST]]:
    """Yield what can be changed at a node: in words, the node replaced, the new one."""
    match node:
        case ast.Compare(ops=ops):
            for at, new in enumerate(SWAPS[type(op)] for op in ops):
                words = f"{type(ops[at]).__name__} to {new.__name__}"
                yield words, node, altered(node, ops=[*ops[:at], new(), *ops[at + 1 :]])
        case ast.BinOp(op=op) | ast.BoolOp(op=op) if new := SWAPS.get(type(op)):
            words = f"{type(op).__name__} to {new.__name__}"
            yield words, node, altered(node, op=new())
        case ast.UnaryOp(op=ast.Not() | ast.USub() as op):
            yield f"{type(op).__name__} removed", node, node.operand
        case ast.Constant(value=bool(value)):
            yield f"{value} to {not value}", node, ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield f"{value} to {value + 1}", node, ast.Constant(value + 1)
        case ast.Constant(value="left" | "right" as side):
            yield f"{side} to {SIDES[side]}", node, ast.Constant(SIDES[side])
        case ast.Name(id=name) if name in NAMES:
            yield f"{name} to {NAMES[name]}", node, ast.Name(NAMES[name])
        case ast.Attribute(attr=name) if name in NAMES:
            yield f"{name} to {NAMES[name]}", node, altered(node, attr=NAMES[name])
        case ast.If(test=test) | ast.IfExp(test=test):
            match test:  # other changes swap the branches of these already
                case ast.Compare(ops=[op]) if isinstance(op, NEGATIONS):
                    return
                case ast.UnaryOp(op=ast.Not()):
                    return
            yield "branches swapped", test, ast.UnaryOp(ast.Not(), test)
        case ast.Expr(value=ast.Call()):
            yield "dropped", node, ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "dropped", node, ast.Pass()
        case _ if isinstance(node, DROPPED):
            yield "dropped", node, ast.Pass()


def nodes(
    parent: ast.AST, function: str, lines: range, inside: bool = False
) -> Iterator[tuple[ast.AST, str, range]]:
    """Yield what runs, with its function and the lines whose tests may notice.

    These are the lines of its statement; all of the function for a default of an
    argument; the whole file outside functions.
    """
    for node in ast.iter_child_nodes(parent):
        name, own, within = function, lines, inside
        if hasattr(node, "annotation"):
            node.annotation = None
        match node:
            case ast.JoinedStr():  # its parts have no places before Python 3.12
                continue
            case ast.keyword(arg="strict" | "optimize"):  # no result hangs on these
                continue
            case ast.If(test=ast.Name("TYPE_CHECKING")):
                continue
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                if any("abstract" in ast.dump(each) for each in node.decorator_list):
                    continue
                node.decorator_list = []
                name = f"{function}.{node.name}".lstrip(".")
                if within := inside or isinstance(node, FUNCTIONS):
                    own = range(node.body[0].lineno, node.end_lineno + 1)
                    node.returns = None
            case ast.stmt() if inside:
                last = node.body[0].lineno - 1 if hasattr(node, "body") else 0
                own = range(node.lineno, max(last or node.end_lineno, node.lineno) + 1)
        yield node, name, own
        yield from nodes(node, name, own, within)


def mutants(file: str, source: bytes) -> list[Mutant]:
    """All mutants of one file, whose path is below the package."""
    rows = source.splitlines(keepends=True)
    starts = [0]
    for row in rows:
        starts.append(starts[-1] + len(row))
    found, seen = [], Counter()
    for node, function, lines in nodes(ast.parse(source), "", range(1, len(rows) + 1)):
        for words, old, new in changes(node):
            text = rows[old.lineno - 1].decode().strip()
            name = f"{file} | {function} | {text} | {words}"
            seen[name] += 1
            if seen[name] > 1:
                name += f" ({seen[name]})"
            start = starts[old.lineno - 1] + old.col_offset
            end = starts[old.end_lineno - 1] + old.end_col_offset
            shown = "pass" if isinstance(new, ast.Pass) else f"({ast.unparse(new)})"
            found.append(Mutant(file, name, lines, start, end, shown))
    return found


def draw(found: list[Mutant], count: int = COUNT, least: int = LEAST) -> list[Mutant]:
    """Draw by hash: from each room its share of all, but a few at least."""
    rooms = defaultdict(list)
    for each in sorted(found, key=lambda m: hashlib.sha256(m.name.encode()).digest()):
        rooms[each.room].append(each)
    shares = {room: count * len(here) / len(found) for room, here in rooms.items()}
    return [m for room in rooms for m in rooms[room][: max(least, int(shares[room]))]]


def equivalent(text: str) -> dict[str, str]:
    """Names and reasons: a name begins its line, its reason is indented below."""
    reasons: dict[str, str] = {}
    for line in filter(str.strip, text.splitlines()):
        if line[0] != " ":
            reasons[name := line.strip()] = ""
        else:
            reasons[name] += line.strip() + " "
    if bare := [name for name, reason in reasons.items() if not reason]:
        sys.exit(f"These equivalent mutants have no reason: {bare}")
    return reasons


def environment(folder: Path) -> dict[str, str]:
    """What the tests of a copy need."""
    paths = [str(folder / "src"), str(folder), str(ROOT)]
    own = {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    return os.environ | own


class Tests:
    """The tests of a copy: the lines that each executes, and how long it takes."""

    def __init__(self, folder: Path, package: str, chosen: list[str]):
        options = [f"--cov={package}", "--cov-context=test", "--cov-report="]
        options += ["--cov-fail-under=0", "--durations=0", "--durations-min=0.005"]
        options += ["-q", "-p", "no:cacheprovider", "-n", str(PROCESSES), *chosen]
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", *options],
            cwd=folder,
            env=environment(folder),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if ran.returncode:
            sys.exit(f"{ran.stdout[-5000:]}\nThe tests fail without any change.")
        self.source = folder / "src" / package
        self.data = CoverageData(str(folder / ".coverage"))
        self.data.read()
        self.seconds = Counter()
        row = r"^([\d.]+)s (?:call|setup) +(.+)$"
        for took, test in re.findall(row, ran.stdout, re.M):
            self.seconds[test] += float(took)
        self.of_file = defaultdict(list)
        for test in {each.rpartition("|")[0] for each in self.data.measured_contexts()}:
            self.of_file[test.partition("::")[0]].append(test)

    def of(self, mutant: Mutant) -> list[tuple[list[str], float]]:
        """Two rounds of tests, each with its seconds.

        Tests of the mutant's own room that execute its lines are the first round: they
        say most.  Then other tests that do, and others of all these files, which may
        read what a fixture or a cache computed in a test before them.  The quickest
        come first, but all functions have their turn before one has its second.
        """
        contexts = self.data.contexts_by_lineno(str(self.source / mutant.file))
        executed = {each for line in mutant.lines for each in contexts.get(line, ())}
        first = {each.rpartition("|")[0] for each in executed} - {""}
        files = {each.partition("::")[0] for each in first}
        tests = itertools.chain(*map(self.of_file.get, files))
        turns, places = Counter(), {}
        for test in sorted(tests, key=lambda it: (self.seconds[it], it)):
            function = test.partition("[")[0]
            places[test] = test not in first, turns[function]
            turns[function] += 1
        rounds, spent = ([], []), [0.0, 0.0]
        for test in sorted(places, key=places.get):
            late = test not in first or f"/{mutant.room}/" not in test
            if not rounds[late] or spent[late] + self.seconds[test] < SECONDS / 2:
                rounds[late].append(test)
                spent[late] += self.seconds[test]
        return [each for each in zip(rounds, spent, strict=True) if each[0]]


class Chosen:
    """A plugin of pytest: some tests in their order."""

    def __init__(self, tests: list[str]):
        self.places = {test: place for place, test in enumerate(tests)}

    def pytest_configure(self) -> None:
        """Do not spend time to make a failing example smaller."""
        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutants", settings.default, phases=phases)
        settings.load_profile("mutants")

    def pytest_collection_modifyitems(self, items: list) -> None:
        """Leave the others out."""
        kept = [item for item in items if item.nodeid in self.places]
        items[:] = sorted(kept, key=lambda item: self.places[item.nodeid])


def forked(tests: list[str], seconds: float) -> int | None:
    """Run tests in a fork: the exit code of pytest, None if they took far too long."""
    if not (child := os.fork()):
        os.setsid()
        limit = int(15 + 2 * seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nowhere, stream)
        files = dict.fromkeys(test.partition("::")[0] for test in tests)
        options = ["-x", "-q", "--assert=plain", "-p", "no:cacheprovider", *files]
        code = 1
        try:
            code = int(pytest.main(options, plugins=[Chosen(tests)]))
        finally:
            os._exit(code)
    ended, end = 0, time.monotonic() + 60 + 20 * seconds  # the machine may be busy
    while not ended and time.monotonic() < end:
        time.sleep(0.02)
        ended, status = os.waitpid(child, os.WNOHANG)
    if not ended:
        os.killpg(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else None


def serve() -> None:
    """Run the tests that each line asks for; what most of them import is here once."""
    for name in IMPORTED:
        importlib.import_module(name)
    for line in sys.stdin:
        print(json.dumps(forked(*json.loads(line))), flush=True)


class Copy:
    """A copy of the project, with a process that runs its tests."""

    def __init__(self, folder: Path, package: str):
        self.source = folder / "src" / package
        self.server = subprocess.Popen(
            [sys.executable, "-m", "tools.mutants", "--serve"],
            cwd=folder,
            env=environment(folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def asked(self, tests: list[str], seconds: float) -> int | None:
        """The exit code of these tests."""
        print(json.dumps([tests, seconds]), file=self.server.stdin, flush=True)
        return json.loads(self.server.stdout.readline())

    def verdict(self, mutant: Mutant, rounds: list[tuple[list[str], float]]) -> str:
        """What tests say of a mutant."""
        if not rounds:
            return "not executed"
        path, codes = self.source / mutant.file, []
        source = path.read_bytes()
        # Python compares time and size to tell old compiled code: not enough here.
        shutil.rmtree(path.parent / "__pycache__", ignore_errors=True)
        path.write_bytes(mutant.apply(source))
        for each in rounds:
            codes.append(self.asked(*each))
            if codes[-1]:
                break
        path.write_bytes(source)
        shutil.rmtree(path.parent / "__pycache__", ignore_errors=True)
        said = {0: "survived", None: "too slow", 5: "not found"}
        return said.get(codes[-1], "killed")


def run(
    root: Path, package: str, chosen: list[Mutant], tests: list[str]
) -> dict[Mutant, str]:
    """Give each mutant to its tests, in copies of the project; tell of survivors."""
    hidden = shutil.ignore_patterns(".*", "__pycache__", "demo", "results", "build")
    verdicts: dict[Mutant, str] = {}
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name, str(place)) for place in range(PROCESSES)]
        for folder in folders:
            shutil.copytree(root, folder, ignore=hidden)
        known = Tests(folders[0], package, tests)
        rounds = {mutant: known.of(mutant) for mutant in chosen}
        copies: queue.Queue[Copy] = queue.Queue()
        for folder in folders:
            copies.put(Copy(folder, package))
        same = Mutant(chosen[0].file, "no change", range(1, 10**6), 0, 0, "")
        tests_of_same = known.of(same)
        if any(it.verdict(same, tests_of_same) != "survived" for it in copies.queue):
            sys.exit("The tests fail in a copy without any change.")

        def judge(mutant: Mutant) -> None:
            free = copies.get()
            verdicts[mutant] = found = free.verdict(mutant, rounds[mutant])
            copies.put(free)
            if found != "killed":
                print(f"{found}: {mutant.name} => {mutant.new}", flush=True)

        with ThreadPoolExecutor(PROCESSES) as pool:
            list(pool.map(judge, chosen))
        for each in copies.queue:
            each.server.communicate()
    return verdicts


def upper_bound(killed: int, of: int) -> float:
    """Wilson's 95 % upper bound of a share."""
    z, p = 1.96, killed / of
    root = math.sqrt(p * (1 - p) / of + z * z / (4 * of * of))
    return (p + z * z / (2 * of) + z * root) / (1 + z * z / of)


def table(verdicts: dict[Mutant, str]) -> tuple[str, bool]:
    """The table of rooms, and whether enough were killed."""
    rows = [f"{'room':12} mutants  killed  (too slow)  share  upper bound"]
    enough = True
    for room in [*dict.fromkeys(each.room for each in verdicts), "all"]:
        here = Counter(v for m, v in verdicts.items() if room in (m.room, "all"))
        of, late = here.total(), here["too slow"]
        killed = here["killed"] + late
        bound = upper_bound(killed, of)
        enough &= killed >= 0.9 * of if room == "all" else bound >= 0.85
        shares = f"{killed / of:6.1%} {bound:12.1%}"
        rows.append(f"{room:12} {of:7} {killed:7} {late:11} {shares}")
    return "\n".join(rows), enough


def main() -> None:
    """Draw, run, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="mutants with this in their name")
    parser.add_argument("--tests", nargs="*", default=[], help="tests to choose from")
    parser.add_argument("--count", type=int, default=COUNT, help="how many, about")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        return serve()
    found = []
    for room in ROOMS:
        for path in sorted((ROOT / "src" / PACKAGE / room).glob("*.py")):
            found += mutants(f"{room}/{path.name}", path.read_bytes())
    listed = equivalent((ROOT / "tools" / "mutants_equivalent.txt").read_text())
    if gone := listed.keys() - {each.name for each in found}:
        print("Listed as equivalent, but not in the code:", *sorted(gone), sep="\n  ")
    drawn = draw([each for each in found if each.name not in listed], given.count)
    drawn = [each for each in drawn if given.only in each.name]
    if not drawn:
        sys.exit(f"No mutant in the draw has {given.only!r} in its name.")
    start = time.monotonic()
    shown, enough = table(run(ROOT, PACKAGE, drawn, given.tests))
    print(f"{shown}\n{(time.monotonic() - start) / 60:.0f} minutes")
    sys.exit(0 if enough else 1)


if __name__ == "__main__":
    main()
