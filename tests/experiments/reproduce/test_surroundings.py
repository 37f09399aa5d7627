import platform

import pytest

from rankfair.experiments.reproduce import surroundings
from rankfair.experiments.reproduce.surroundings import code_files, describe


def names():
    return {path.relative_to(surroundings.PACKAGE).as_posix() for path in code_files()}


def test_the_code_of_every_record_is_looked_at():
    assert names() >= {
        "__init__.py",
        "_validation/training.py",
        "estimators/baselines.py",
        "datasets/crime.py",
        "estimators/linear.py",
        "estimators/settings.py",
        "experiments/records.py",
        "experiments/reproduce/tuning.py",
        "experiments/reproduce/work.py",
        "solvers/paper.py",
        "solvers/tilt.py",
        "stats/auc.py",
        "stats/variance.py",
    }


@pytest.mark.parametrize("word", ["cli/", "bars", "docs", "claims", "frontier"])
def test_what_only_renders_is_not(word):
    assert not any(word in name for name in names())


def test_a_change_of_code_is_seen_and_one_of_words_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr(surroundings, "PACKAGE", tmp_path)
    path = tmp_path / "a.py"

    def found(content):
        path.write_bytes(content)
        return surroundings._hash([path])

    first = found(b'def f():\n    """Say a."""\n    return lambda: 1\n')
    assert first == found(b'def f():\r\n    "b"\r\n    # c\r\n    return lambda: 1\n')
    assert first != found(b'def f():\n    """Say a."""\n    return lambda: 2\n')


def test_python_machine_and_linear_algebra_are_named():
    found = describe()
    assert found["version of Python"] == platform.python_version()
    assert found["machine"] == platform.machine()
    assert found["BLAS"]
    assert describe() == found


def test_linear_algebra_of_other_packages_does_not_count(monkeypatch):
    def library(folder, version):
        path = f"/site-packages/{folder}/libopenblas.so"
        return {"user_api": "blas", "filepath": path, "version": version}

    ours, other = library("numpy.libs", "1"), library("cvxpy.libs", "2")
    monkeypatch.setattr("threadpoolctl.threadpool_info", lambda: [ours, other])
    assert describe()["BLAS"] == "1"
    monkeypatch.setattr("threadpoolctl.threadpool_info", lambda: [other])
    assert describe()["BLAS"] == "2"
