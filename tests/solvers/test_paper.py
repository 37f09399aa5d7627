import numpy as np
import pytest

from problems import asked, biased, posed, predictions, solved, target
from rankfair import projections
from rankfair.constraints import Mean, Rank
from rankfair.solvers import Paper
from rankfair.solvers.base import Status

SHORT = {"max_iter": 4, "inner": 5, "window": 1000}


def by_the_formulas(problem, beta, epsilon, solver):
    """Algorithm 4 with its inner ADM, task by task: ``XW`` and ``M − S`` a step."""
    y = (target(problem) - target(problem).mean()) / target(problem).std()
    X = (problem.X - problem.X.mean(axis=0)) / problem.X.std(axis=0)
    in_a = problem.user_groups.in_a
    band = Rank(epsilon).band(problem.user_groups)
    tasks = [problem.codes == j for j in range(problem.n_tasks)]
    rng = np.random.default_rng(solver.random_state)
    M, S, V, _ = rng.random((4, len(y)))
    multiplier = np.zeros(len(y))
    gamma, rho = solver.gamma, solver.rho
    steps = []
    for _ in range(solver.max_iter):
        for _ in range(solver.inner):
            XW = np.empty(len(y))
            for mine in tasks:
                t = (y + gamma * M + multiplier)[mine] / (1 + gamma)
                c = np.linalg.pinv(X[mine]) @ t
                size = np.linalg.norm(c)
                w = max(size - beta / (1 + gamma), 0) * c / size if size else c
                XW[mine] = X[mine] @ w
            M = (rho * (S - V) + gamma * XW - multiplier) / (rho + gamma)
            multiplier = multiplier - solver.theta * (XW - M)
        S = projections.paper(M + V, in_a, band, window=solver.window)
        V = V + M - S
        steps.append((XW, np.linalg.norm(M - S) / np.linalg.norm(M)))
    return steps


@pytest.mark.parametrize("settings", [{}, {"rho": 0.5, "gamma": 2.0, "theta": 0.1}])
@pytest.mark.parametrize("beta", [0.0, 0.2, 50.0])
def test_the_steps_are_those_of_the_formulas(settings, beta):
    data = biased(k=3, per_task=8, auc=0.8)
    # Rows in the order of tasks, as the random start is drawn.
    problem = posed(data.X, target(data), data.codes, data.user_groups.in_a)
    solver = Paper(random_state=7, **SHORT, **settings)
    solution = solved(problem, solver, "task", 0.01, beta)
    steps = by_the_formulas(problem, beta, 0.01, solver)
    residuals = [residual for _, residual in steps]
    assert [s.residual for s in solution.trace] == pytest.approx(residuals, rel=1e-6)
    constraint, groups = Rank(0.01), problem.user_groups
    aucs = [constraint.show(constraint.value(XW, groups), groups) for XW, _ in steps]
    if beta < 50:
        assert [s.auc for s in solution.trace] == pytest.approx(aucs, abs=0.02)
        m = predictions(problem, solution)
        standard = (m - target(problem).mean()) / target(problem).std()
        away = [np.abs(XW - standard).max() for XW, _ in steps]
        assert min(away) <= 1e-9
    else:
        assert not solution.coef.any()


def test_the_seed_decides():
    problem = biased()
    one, two, other = (
        solved(problem, Paper(random_state=seed, **SHORT), "task") for seed in (1, 1, 2)
    )
    assert one.coef.tobytes() == two.coef.tobytes()
    assert one.trace == two.trace
    assert one.trace != other.trace
    generator = Paper(random_state=np.random.default_rng(1), **SHORT)
    assert solved(problem, generator, "task").trace == one.trace


@pytest.mark.parametrize("seed", [0])
def test_the_best_iterate_is_kept_and_counted_exactly(seed):
    problem = biased(seed=seed)
    solution = solved(problem, Paper(random_state=seed, **SHORT), "task", 0.01)
    constraint, groups = Rank(0.01), problem.user_groups
    value = constraint.value(predictions(problem, solution), groups)
    assert solution.values == (constraint.show(value, groups),)
    misses = [
        abs(
            constraint.band(groups).miss(step.auc * 2 * groups.total_a * groups.total_b)
        )
        for step in solution.trace
    ]
    miss = abs(constraint.band(groups).miss(value))
    assert miss == pytest.approx(min(misses), abs=1e-6)
    assert solution.status is (Status.INFEASIBLE if miss else Status.MAX_ITER)


def test_it_projects_ranks_only_and_counts_no_weights():
    problem = biased()
    with pytest.raises(ValueError, match=r'solver "paper".*got Mean'):
        asked(Paper(), problem, Mean(), "task")
    weighted = posed(
        problem.X,
        target(problem),
        problem.codes,
        problem.user_groups.in_a,
        np.full(len(problem.y), 2.0),
    )
    with pytest.raises(ValueError, match="every row once"):
        solved(weighted, Paper(), "task")


@pytest.mark.parametrize("penalty", ["ridge", "feature", "shared"])
def test_other_penalties_are_refused(penalty):
    with pytest.raises(ValueError, match='closed form for penalty="task" only'):
        solved(biased(), Paper(max_iter=1), penalty)
