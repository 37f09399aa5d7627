"""`make test-cpus`: what it runs exists, and it says what it could not try."""

from tools import test_cpus as cpus


def test_every_listed_test_exists():
    assert [each for each in cpus.TESTS if not (cpus.ROOT / each).exists()] == []
