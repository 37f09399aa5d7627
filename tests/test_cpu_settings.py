"""`make test-cpus`: what it runs exists, and it says what it could not try."""

import pytest

from tools import test_cpus as cpus

PLAIN = {"numpy": ["X86_V2", "X86_V3"], "blas": ["Haswell"]}


def test_every_listed_test_exists():
    assert [each for each in cpus.TESTS if not (cpus.ROOT / each).exists()] == []


@pytest.mark.parametrize(
    ("setting", "report", "words"),
    [
        ({}, PLAIN, ""),
        (
            {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4"},
            {**PLAIN, "numpy": ["X86_V2"]},
            "",
        ),
        ({"NPY_DISABLE_CPU_FEATURES": "X86_V3"}, PLAIN, "NumPy still uses X86_V3"),
        ({"NPY_DISABLE_CPU_FEATURES": "X86_V4"}, PLAIN, "this processor lacks"),
        ({"OPENBLAS_CORETYPE": "Nehalem"}, {**PLAIN, "blas": ["Nehalem"]}, ""),
        ({"OPENBLAS_CORETYPE": "Nehalem"}, PLAIN, "uses Haswell all the same"),
    ],
)
def test_what_a_setting_lacks_is_said(setting, report, words):
    why = cpus.missing(setting, PLAIN, report)
    assert words in why and bool(why) == bool(words)
