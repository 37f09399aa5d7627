"""`make mutants`: each change is valid, its name does not move, and tests are asked."""

import pytest
from scipy.stats import binomtest

from tools import mutants as tool

TOY = '''
def most(a: int | None = 3, b=-1):
    """Which is larger? 2 > 1."""
    found = max(a, b)
    if not found > 0 and a != b:
        raise ValueError(f"{a + b} is too small")
    return found


def unused(a):
    return a + 1
'''
TESTS = """
from toy.room.most import most


def test_most():
    assert most(2, 1) == 2 and most() == 3
"""
CHANGES = {
    "3 to 4",
    "USub removed",
    "1 to 2",
    "max to min",
    "And to Or",
    "Not removed",
    "Gt to GtE",
    "0 to 1",
    "NotEq to Eq",
    "branches swapped",
    "dropped",
    "Add to Sub",
}


def words(mutant):
    return mutant.name.split(" | ")[-1]


def test_changes_are_valid_and_leave_docstrings_types_and_words_alone():
    found = tool.mutants("room/most.py", TOY.encode())
    assert {words(each) for each in found} == CHANGES
    for each in found:
        compile(each.apply(TOY.encode()), "toy", "exec")
    assert len({each.apply(TOY.encode()) for each in found}) == len(found)


def test_what_tests_notice_is_killed(tmp_path):
    folder, tests = tmp_path / "src" / "toy" / "room", tmp_path / "tests"
    folder.mkdir(parents=True)
    tests.mkdir()
    (folder / "most.py").write_text(TOY)
    (tests / "test_toy.py").write_text(TESTS)
    found = tool.mutants("room/most.py", TOY.encode())
    chosen = [each for each in found if words(each) in ("3 to 4", "Gt to GtE")]
    chosen += [each for each in found if " unused " in each.name]
    verdicts = tool.run(tmp_path, "toy", chosen, ["tests"])
    told = ["killed", "survived", "not executed", "not executed"]
    assert [verdicts[each] for each in chosen] == told
    shown, enough = tool.table(verdicts)
    assert "room               4       1           0  25.0%" in shown and not enough


def test_the_bound_is_wilsons():
    for killed, of in [(0, 30), (20, 30), (30, 30), (280, 300)]:
        bound = binomtest(killed, of).proportion_ci(method="wilson").high
        assert tool.upper_bound(killed, of) == pytest.approx(bound, abs=1e-4)
