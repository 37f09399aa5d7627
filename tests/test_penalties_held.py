import numpy as np
import pytest

from rankfair.penalties import Penalty, make_penalty

NAMES = ["ridge", "task", "feature", "shared"]


def posed(seed, k=5, n=3):
    rng = np.random.default_rng(seed)
    G, B = np.zeros((k, n, n)), np.zeros((k, n))
    for j in range(k):
        X = rng.normal(size=(8, n))
        G[j], B[j] = X.T @ X, X.T @ (X @ rng.normal(size=n) + rng.normal(size=8))
    return G, B, rng


@pytest.mark.parametrize("beta", [0.0, 0.1, 3.0])
@pytest.mark.parametrize("name", NAMES)
def test_held_where_the_fit_is_the_fit_stays(name, beta):
    G, B, _ = posed(0)
    W = make_penalty(name, beta).factorise(G).solve(B)
    held = make_penalty(name, beta).held(W)
    np.testing.assert_allclose(held.factorise(G).solve(B), W[: len(B)], atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_it_touches_from_above(name):
    """Elsewhere it is no less, up to what it is more at the place itself."""
    penalty = make_penalty(name, 0.7)
    G, B, rng = posed(1)
    W = penalty.factorise(G).solve(B)
    held = penalty.held(W)
    more = held.value(W[:5]) - penalty.value(W)
    for _ in range(20):
        other = W.copy()
        other[:5] += rng.normal(size=(5, 3))
        assert held.value(other[:5]) - more >= penalty.value(other) - 1e-9


@pytest.mark.parametrize("name", NAMES)
def test_tasks_are_penalised_and_fitted_alone(name):
    penalty = make_penalty(name, 0.7)
    G, B, rng = posed(2)
    held = penalty.held(penalty.factorise(G).solve(B))
    some, T = np.array([1, 3]), rng.normal(size=B.shape)
    factor = held.factorise(G)
    wanted = factor.solve(T)[some]
    np.testing.assert_allclose(
        held.factorise(G[some]).solve(T[some]), wanted, atol=1e-9
    )
    taken = factor.take(some)
    assert taken is not None
    np.testing.assert_allclose(taken.solve(T[some], wanted), wanted, atol=1e-9)
    assert held.by_task(wanted).sum() == pytest.approx(held.value(wanted))
    assert held.held(wanted) is held


def test_a_feature_that_was_dropped_stays_dropped():
    G, B, rng = posed(3)
    W = np.ones((5, 3)) * [1.0, 0.0, 2.0]
    held = make_penalty("feature", 1.0).held(W)
    found = held.factorise(G).solve(rng.normal(size=B.shape))
    assert not found[:, 1].any() and found[:, 0].all()
    assert np.isfinite(held.by_task(found)).all()


def test_many_tasks_are_factorised_again():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(2500, 4, 2))
    factor = make_penalty("task", 0.5).factorise(np.matmul(X.transpose(0, 2, 1), X))
    assert factor.take(np.arange(3)) is None
    held = make_penalty("shared", 0.5).held(np.ones((2501, 2)))
    around = held.factorise(np.matmul(X.transpose(0, 2, 1), X))
    assert around.take(np.arange(3)) is None


def test_a_penalty_that_does_not_say_what_is_shared_is_refused():
    class Own(Penalty):
        value = factorise = None

    Own.__abstractmethods__ = frozenset()
    with pytest.raises(ValueError, match="Own does not say what its tasks share"):
        Own().held(np.ones((2, 2)))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_shared_is_centred_at_its_best(name):
    penalty = make_penalty(name, 0.7)
    G, B, rng = posed(3)
    W = penalty.factorise(G).solve(B)
    np.testing.assert_allclose(penalty.centred(W), W, atol=1e-4)
    astray = W.copy()
    astray[len(B) :] = 1e30
    best = penalty.centred(astray)
    np.testing.assert_array_equal(best[: len(B)], W[: len(B)])
    for _ in range(50):
        other = best.copy()
        other[len(B) :] += 10 ** rng.uniform(-4, 0) * rng.normal(size=3)
        assert penalty.value(best) <= penalty.value(other) * (1 + 1e-9)


def test_where_most_tasks_agree_they_are_the_centre():
    W = np.zeros((6, 2))
    W[0], W[-1] = 3.0, 1.0
    assert not make_penalty("shared").centred(W)[-1].any()
