"""Rows of models that tests save, and files of models with other parts."""

import copy
import io
import json
import warnings
import zipfile
from functools import cache

import numpy as np
import pandas as pd
import polars as pl

from rankfair import MultiTaskRegressor, RankFairRegressor
from rankfair.constraints import Mean, Rank
from rankfair.datasets.synthetic import make_biased_tasks
from rankfair.files.archive import DIGEST, META, signed
from rankfair.files.model_files import model_bytes
from rankfair.penalties import Ridge, Shared
from rankfair.solvers import NCADMM, Tilt

DATA = make_biased_tasks(4, 25, random_state=0)
FRAME, Y = DATA.frame, DATA.target
NAMED = {"tasks": "task", "sensitive_features": "z"}
rng = np.random.default_rng(0)
GROUPS = FRAME.assign(
    z=rng.choice(["a", "b", "c"], len(FRAME)), age=rng.uniform(20, 70, len(FRAME))
)
PLAIN = FRAME.drop(columns="z")
HALVES = FRAME.assign(half=np.arange(len(FRAME)) % 2)
SHARED = {"tasks": "task", "penalty": "shared", "unseen": "shared"}
PROTECTED = {"sensitive_features": ["z", "age"], "bins": 2}
RECORDS = {
    "penalty": Ridge(0.5),
    "constraints": Rank(0.02),
    "solver": Tilt(max_iter=40),
}
SEVERAL = {"penalty": Shared(0.5), "constraints": [Rank(0.03), Mean(0.1)]}
ADMM = {"blind": False, "penalty": "task", "beta": 1.0, "solver": NCADMM(rho=0.5)}
MODELS = {
    "fair": (RankFairRegressor(0.1, **NAMED, blind=False), FRAME),
    "line": (RankFairRegressor(0.1, **NAMED), FRAME),
    "protected": (RankFairRegressor(tasks="task", **PROTECTED, blind=False), GROUPS),
    "blind": (RankFairRegressor(tasks="task", **PROTECTED), GROUPS),
    "no tasks": (MultiTaskRegressor(), PLAIN.drop(columns="task")),
    "shared": (MultiTaskRegressor(**SHARED), PLAIN),
    "several columns": (
        RankFairRegressor(0.05, tasks=["task", "half"], sensitive_features="z"),
        HALVES,
    ),
    "array": (MultiTaskRegressor(tasks=4), PLAIN.astype({"task": int}).to_numpy(float)),
    "objects": (RankFairRegressor(**NAMED, **RECORDS), pl.from_pandas(FRAME)),
    "admm": (RankFairRegressor(**NAMED, **ADMM), FRAME),
    "list of objects": (RankFairRegressor(**NAMED, **SEVERAL), FRAME),
}


@cache
def fitted(name):
    """Return a fitted model."""
    model, X = MODELS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few steps are enough here
        return model.fit(X, Y)


@cache
def stored(name):
    """Return the bytes of its file."""
    return model_bytes(fitted(name))


# What may stand in the place of anything: other types, marks, and marks of nonsense.
ODD = [
    *(None, True, 0, -1, 3, 2**70, 1.5, "", "x", "a\0b", [], {}, [1], ["a"], [[]]),
    *({"a": 1}, {"$tuple": []}, {"$tuple": [0]}, {"$tuple": ["a", 1]}, {"$tuple": 3}),
    *({"$float": "nan"}, {"$float": "inf"}, {"$float": []}, {"$what": 1}),
    *({"$objects": []}, {"$objects": ["a"]}, {"$objects": [[1]]}, {"$objects": [None]}),
    *({"$array": 0}, {"$array": 1}, {"$array": 99}, {"$array": "0"}),
    *({"$scalar": ["float64", [1, 2]]}, {"$scalar": ["int64", "a"]}, {"$scalar": 3}),
    *({"$dict": [[1, 2]]}, {"$dict": [["a", 1, 2]]}, {"$dict": [[[], 1]]}),
    *({"$decimal": "1"}, {"$decimal": [0, [1], "x"]}, {"$date": 3}, {"$datetime": ""}),
    *(
        {"$record": ["ridge", {}]},
        {"$record": ["ridge", 3]},
        {"$record": ["layout", {}]},
    ),
    *({"$record": ["rank", {"epsilon": "a"}]}, {"$record": [["a"], {}, []]}),
]
OTHER_ARRAYS = [
    *(np.zeros(0), np.zeros((0, 3)), np.zeros((2, 2)), np.array(3.0), np.zeros(4, int)),
    *(np.full((4, 6), np.nan), np.zeros((1, 1, 1)), np.zeros(4, bool), np.arange(4.0)),
]


def mutated(value, random):
    """Return JSON with one or two of its parts lost, doubled, moved or replaced."""
    value = copy.deepcopy(value)
    for _ in range(random.choice([1, 1, 2])):
        places = list(_places(value))
        inner, key = random.choice(places)
        change = random.randrange(4)
        if change == 0:
            del inner[key]
        elif change == 1:
            other, its = random.choice(places)
            inner[key] = copy.deepcopy(other[its])
        elif change == 2 and isinstance(inner, list):
            inner.append(copy.deepcopy(random.choice(ODD)))
        else:
            inner[key] = copy.deepcopy(random.choice(ODD))
    return value


def _places(value):
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield value, key
        if isinstance(inner, dict | list):
            yield from _places(inner)


def own_rows(model):
    """Return rows made of the labels that a model says it knows, as predict has them.

    That is X, and the tasks if they are not in X.
    """
    layout = model._layout
    labels = {each.column: each.labels for each in layout.protected}
    tasks = layout.tasks.tolist()
    X = np.zeros((len(tasks), model.n_features_in_), object)
    for column, known in labels.items():
        if known is not None:
            X[:, column] = [known.tolist()[i % len(known)] for i in range(len(tasks))]
    at = layout.task_columns or ()
    for place, column in enumerate(at):
        X[:, column] = tasks if len(at) == 1 else [each[place] for each in tasks]
    names = getattr(model, "feature_names_in_", None)
    frame = X if names is None else pd.DataFrame(X, columns=list(names))
    return frame, (layout.tasks if layout.task_columns == () else None)


def tampered(raw, members, body=None):
    """Put other members into a model file, with a checksum that fits them."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        held = {name: archive.read(name) for name in archive.namelist()} | members
    if body is not None:
        held[META] = json.dumps({**json.loads(held[META]), "body": body}).encode()
    return zipped(held.items())


def zipped(members, kind=zipfile.ZIP_STORED):
    """Return an archive with a checksum, as those of models have."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", kind) as archive:
        for name, content in members:
            with warnings.catch_warnings(action="ignore"):  # a name twice
                archive.writestr(name, content)
        archive.comment = bytes(DIGEST)
    return signed(stream.getvalue())
