"""One rule for the next probe of a root in a bracket."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankfair.solvers.roots import Bracket, close_in, first_beyond


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


def probed(f, a, b, most):
    """The rule in words: chords, on which the value of an end that stays is halved.

    That is from its second time in a row on; after the third the middle comes next.
    """
    fa, fb, moved = f(a), f(b), ""
    for _ in range(most):
        less = 2.0 ** max(len(moved) - 1, 0)
        ga, gb = fa / (less if "b" in moved else 1), fb / (less if "a" in moved else 1)
        halved = len(moved) == 3
        x = (a + b) / 2 if halved else b - gb * (b - a) / (gb - ga)
        yield x
        end = "a" if f(x) > 0 else "b"
        moved = "" if halved else moved + end if end in moved else end
        a, fa, b, fb = (x, f(x), b, fb) if end == "a" else (a, fa, x, f(x))


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: 0.3**9 - x**9,
        lambda x: np.exp(-9 * x) - 1e-3,
        lambda x: 1e-3 if x < 0.7 else -1e3,
        lambda x: 1e3 if x < 2.3 else -1e-3,
    ],
)
def test_chords_give_way_to_the_middle_after_three(f, sign):
    """Upwards and downwards."""
    asked = []

    def along(x, _):
        asked.append(sign * x)
        return f(sign * x)

    bracket = Bracket(0.0, f(0.0), sign * 3.0, f(3.0))
    close_in(along, bracket, lambda at: False, most=24)
    assert asked == pytest.approx([*probed(f, 0.0, 3.0, len(asked))], rel=1e-9)


@given(st.integers(0, 2**32 - 1))
def test_the_first_place_beyond_is_told_with_the_one_before_it(seed):
    rng = np.random.default_rng(seed)
    n, most = rng.integers(1, 5, 2)
    places = np.sort(rng.integers(1, 9, (most, n)), axis=0)
    places = places * rng.choice([-1.0, 1.0], (most, 1))
    places[rng.random((most, n)) < 0.1] = 0.0  # there is none
    values = rng.integers(-1, 4, (most, n)).astype(float)
    start, rounds = rng.integers(0, 4, n).astype(float), iter(values)
    masks = []

    def f(x, still):
        masks.append(still)
        return next(rounds)

    found = first_beyond(f, places, start)
    for i in range(n):
        none = 0.0, start[i]
        before, best, asked = {-1: none, 1: none}, (*none, *none), 0
        for x, fx in zip(places[:, i], values[:, i], strict=True):
            if best[3] <= 0:
                break
            asked += 1
            if x and fx < best[3]:
                best = *before[np.sign(x)], x, fx
            if x:
                before[np.sign(x)] = x, fx
        assert (found.a[i], found.fa[i], found.b[i], found.fb[i]) == best
        assert sum(bool(still[i]) for still in masks) == asked
