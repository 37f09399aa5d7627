import numpy as np
import pytest

from rankfair.solvers.mixing import Mixer


def linear_map(n, radius, seed=0):
    """``gap(b) = A b + c − b`` with a map whose eigenvalues stay below ``radius``."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n))
    A = A + A.T
    A *= radius / np.abs(np.linalg.eigvalsh(A)).max()
    c = rng.normal(size=n)
    return lambda b: A @ b + c - b, np.linalg.solve(np.eye(n) - A, c)


def steps_needed(gap, point, mixer=None, damping=0.8, goal=1e-8, most=2000):
    for i in range(most):
        away = gap(point)
        if np.linalg.norm(away) <= goal:
            return i
        point = mixer.next(point, away) if mixer else point + damping * away
    return most


@pytest.mark.parametrize("radius", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("n", [2, 5, 20])
def test_linear_maps_settle_sooner_than_without_mixing(n, radius):
    gap, _ = linear_map(n, radius)
    mixed = steps_needed(gap, np.zeros(n), Mixer())
    plain = steps_needed(gap, np.zeros(n))
    assert mixed < plain
    assert radius < 0.9 or mixed < plain / 2


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_linear_map_of_few_numbers_is_solved_at_once(n):
    gap, fixed = linear_map(n, 0.9)
    mixer, point = Mixer(), np.zeros(n)
    for _ in range(n + 2):
        point = mixer.next(point, gap(point))
    assert point == pytest.approx(fixed, abs=1e-4)


def test_a_map_that_drives_away_is_tamed():
    def gap(b):
        return -3.0 * b + 6.0

    assert steps_needed(gap, np.zeros(1), most=100) == 100
    assert steps_needed(gap, np.zeros(1), Mixer()) < 20


@pytest.mark.parametrize("damping", [0.3, 0.8, 1.0])
def test_the_first_step_is_a_damped_one(damping):
    point, gap = np.array([1.0, 2.0]), np.array([10.0, -10.0])
    assert Mixer(damping).next(point, gap) == pytest.approx(point + damping * gap)


def test_a_gap_that_grew_throws_the_history_away():
    mixer = Mixer()
    mixer.next(np.zeros(2), np.array([1.0, 0.0]))
    point, gap = np.ones(2), np.array([0.0, 5.0])
    assert mixer.next(point, gap) == pytest.approx(point + 0.8 * gap)


def test_a_settled_point_stays():
    mixer = Mixer()
    mixer.next(np.zeros(3), np.ones(3))
    assert mixer.next(np.ones(3), np.zeros(3)) == pytest.approx(np.ones(3))


def test_the_shape_is_kept_and_nothing_is_modified():
    mixer, rng = Mixer(), np.random.default_rng(0)
    for size in (1.0, 0.7, 0.5):
        point, gap = rng.normal(size=(3, 4)), size * rng.normal(size=(3, 4))
        point.flags.writeable = gap.flags.writeable = False
        assert mixer.next(point, gap).shape == (3, 4)


def test_equal_steps_do_not_divide_by_zero():
    mixer = Mixer()
    for _ in range(4):
        point = mixer.next(np.ones(2), np.full(2, 0.5))
    assert np.isfinite(point).all()
