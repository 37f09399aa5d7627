"""The datasets, dealt into training and held-out rows, and their base learners."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_predict

from paper.cases import Rows
from rankfair import MultiTaskRegressor, RankFairRegressor, datasets
from rankfair.metrics import rmse

Kind = Literal["pooled", "tasks", "boosting"]
TRAIN_SHARE = 0.7
N_FOLDS = 5


@dataclass(frozen=True)
class Case:
    """A dataset: `sizes` are tasks and training rows of each if it is synthetic.

    A cell may take `limit` seconds of processor time.  Where fits take
    long ours get few settings: `shares` of those a rival suggests, 3 at most.
    """

    title: str
    source: str
    seeds: int = 5
    sizes: tuple[int, int] | None = None
    kind: Kind | None = None
    limit: int = 30
    shares: int = 3


CASES: dict[str, Case] = {
    "synthetic-1e3": Case("Synthetic, 10³ rows", "synthetic", 5, (40, 25)),
    "synthetic-1e4": Case("Synthetic, 10⁴ rows", "synthetic", 5, (100, 100)),
    "wine": Case("Wine", "wine"),
    "wine-boosting": Case("Wine, boosted trees", "wine", 3, kind="boosting", limit=45),
    "student": Case("Student", "student"),
    "crime": Case("Crime", "crime", 3, shares=2),
    "income": Case("Income", "income", 3, shares=2),
    "synthetic-1e5": Case("Synthetic, 10⁵ rows", "synthetic", 3, (400, 250), shares=2),
    "synthetic-1e6": Case(
        "Synthetic, 10⁶ rows", "synthetic", 3, (1000, 1000), limit=40, shares=1
    ),
}


@dataclass(frozen=True)
class Base:
    """The learner that everybody starts from, and the table it reads.

    "pooled" is one ridge regression, "tasks" `MultiTaskRegressor` as it is, a linear
    model for each task drawn towards a common one, "boosting" trees.  The last two
    read the task in column 0.
    """

    kind: Kind

    @property
    def title(self) -> str:
        if self.kind == "pooled":
            return "one ridge regression of all rows"
        if self.kind == "boosting":
            return "histogram gradient boosting, the task a feature"
        return "a linear model for each task, drawn towards a common one"

    def table(self, rows: Rows, X: np.ndarray | None = None) -> np.ndarray:
        X = rows.X if X is None else X
        return X if self.kind == "pooled" else np.column_stack((rows.tasks, X))

    def learner(self, remember: bool = False) -> BaseEstimator:
        """A new learner; one that remembers takes a fit to the same rows only once."""
        return Remembering(self.learner()) if remember else self._new()

    def _new(self) -> BaseEstimator:
        if self.kind == "pooled":
            return Ridge()
        if self.kind == "tasks":
            return MultiTaskRegressor(tasks=0, unseen="shared")
        return HistGradientBoostingRegressor(max_iter=60, random_state=0)

    def rank_fair(self, epsilon: float, rows: Rows, **wanted: Any) -> RankFairRegressor:
        """The linear model of this kind under a constraint."""
        pooled = self.kind == "pooled"
        own: dict[str, Any] = {"penalty": "ridge"} if pooled else {"tasks": 0}
        column = self.table(rows).shape[1] - 1
        return RankFairRegressor(epsilon, sensitive_features=column, **own, **wanted)

    def out_of_fold(self, rows: Rows) -> np.ndarray:
        """Predictions of training rows by learners that did not see them."""
        return cross_val_predict(
            self.learner(remember=True), self.table(rows), rows.y, cv=folds(rows)
        ).astype(float)

    def fitted(self, rows: Rows) -> Any:
        return self.learner(remember=True).fit(self.table(rows), rows.y)


class Remembering(RegressorMixin, BaseEstimator):
    """A learner that is fitted once to the same rows, however many settings follow.

    Cost is measured on the first fit of a process, when nothing is remembered yet.
    """

    _known: ClassVar[dict[bytes, Any]] = {}

    def __init__(self, learner: BaseEstimator) -> None:
        self.learner = learner

    def fit(self, X: np.ndarray, y: np.ndarray) -> Remembering:
        key = sha256(repr(self.learner).encode())
        for part in (X, y):
            key.update(np.ascontiguousarray(part))
        if key.digest() not in self._known:
            self._known[key.digest()] = clone(self.learner).fit(X, y)
        self.model_ = self._known[key.digest()]
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.model_.predict(X)


def draw(case: Case, seed: int) -> tuple[Rows, Rows]:
    """Training and held-out rows, in standard units of the former."""
    if case.sizes is not None:
        tasks, each = case.sizes
        # As many rows again are held out, 10⁵ at most.
        more = min(each, max(1, 10**5 // tasks))
        data = datasets.make_biased_tasks(tasks, each + more, random_state=seed)
        early = np.arange(len(data.target)) % (each + more) < each
    else:
        data = _loaded(case.source, seed)
        early = _dealt(data.tasks, seed)
    rows = Rows.of(data)
    codes = np.unique(rows.tasks, return_inverse=True)[1].astype(float)
    return _standardised(replace(rows, tasks=codes), early)


def _loaded(name: str, seed: int) -> datasets.Dataset:
    if name == "wine":
        return datasets.load_wine(random_state=seed, download=False)
    if name == "student":
        return datasets.load_student(random_state=seed, download=False)
    return datasets.load_crime() if name == "crime" else datasets.load_income()


def available(case: Case) -> str:
    """Nothing, or why the data cannot be had."""
    try:
        draw(case, 0) if case.sizes is None else None
    except OSError as error:
        return str(error).splitlines()[0]
    return ""


def folds(rows: Rows) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows of each task dealt evenly, so that no fold lacks a task it could have."""
    place = _place(rows.tasks, np.random.default_rng(0))
    fold = (place + rows.tasks.astype(int)) % N_FOLDS
    return [
        (np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(N_FOLDS)
    ]


def _place(tasks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The place of each row among those of its task, in a random order."""
    order = np.lexsort((rng.random(len(tasks)), tasks))
    _, starts, sizes = np.unique(tasks[order], return_index=True, return_counts=True)
    place = np.empty(len(tasks), dtype=int)
    place[order] = np.arange(len(tasks)) - np.repeat(starts, sizes)
    return place


def _dealt(tasks: np.ndarray, seed: int) -> np.ndarray:
    """A share of the rows of each task, at random."""
    place = _place(tasks, np.random.default_rng([seed, 1]))
    codes, sizes = np.unique(tasks, return_inverse=True, return_counts=True)[1:]
    return place < np.round(TRAIN_SHARE * sizes[codes])


def _standardised(rows: Rows, by: np.ndarray) -> tuple[Rows, Rows]:
    X, own = rows.X.copy(), slice(None, rows.group_column)
    spread = X[by, own].std(axis=0)
    X[:, own] = (X[:, own] - X[by, own].mean(axis=0)) / np.where(spread > 0, spread, 1)
    y = (rows.y - rows.y[by].mean()) / rows.y[by].std()
    scaled = replace(rows, X=X, y=y)
    return scaled.take(by), scaled.take(~by)


def choose_base(case: Case) -> Base:
    """The linear learner with the smaller out-of-fold error on training rows.

    A hundred tasks decide; held-out rows are not looked at.
    """
    if case.kind is not None:
        return Base(case.kind)
    if case.sizes is not None:
        case = replace(case, sizes=(min(case.sizes[0], 100), case.sizes[1]))
    rows, _ = draw(case, 0)
    bases = Base("pooled"), Base("tasks")
    return min(bases, key=lambda base: rmse(rows.y, base.out_of_fold(rows)))
