"""One rule for the next probe of a root in a bracket."""

import numpy as np
import pytest

from rankfair.solvers.roots import Bracket, close_in


def around(f, a, b):
    return Bracket(a, f(a), b, f(b))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: 1.0 - x,
        lambda x: np.exp(-x) - 0.3,
        lambda x: 2.0 - np.sqrt(x + 1) - x,
        lambda x: 1e6 * (0.2 - x) / (1 + x),
    ],
)
def test_smooth_roots_need_few_probes(f):
    probes = []

    def counted(x, _):
        probes.append(x)
        return f(x)

    def enough(at):
        return min(at.fa, -at.fb) <= 1e-10 * f(0.0)

    found = close_in(counted, around(f, 0.0, 3.0), enough)
    assert f(found.a) > 0 >= f(found.b)
    assert enough(found)
    assert len(probes) <= 12


def test_any_jump_is_closed_in_on():
    for jump in (0.1, 0.737, 2.9):
        found = close_in(
            lambda x, _, jump=jump: 1e-3 if x < jump else -1e3,
            Bracket(0.0, 1e-3, 3.0, -1e3),
            lambda at: False,
        )
        assert found.a < jump <= found.b
        assert found.b - found.a <= 1e-12


def test_arrays_are_probed_as_numbers_are_and_only_while_they_are_open():
    roots, asked = np.array([0.3, 0.9, 2.2, 0.0]), []

    def f(x, still):
        asked.append(np.flatnonzero(still))
        return roots**3 - x**3

    every, ends = np.ones(4, bool), (np.zeros(4), np.full(4, 3.0))
    bracket = Bracket(ends[0], f(ends[0], every), ends[1], f(ends[1], every))
    asked.clear()
    found = close_in(f, bracket, lambda at: (at.fb >= -1e-6) | (roots == 0))
    assert not any(3 in which for which in asked)
    assert (np.diff([len(which) for which in asked]) <= 0).all()
    for i, root in enumerate(roots[:3]):
        alone = close_in(
            lambda x, _, root=root: root**3 - x**3,
            Bracket(0.0, root**3, 3.0, root**3 - 27.0),
            lambda at: at.fb >= -1e-6,
        )
        assert found.b[i] == pytest.approx(alone.b, rel=1e-12)
        assert found.b[i] == pytest.approx(root, abs=1e-5)
