"""How sure a number about two groups is: intervals, tests, and what cannot be known."""

from rankfair.stats.certificate import Certificate, certify, certify_predictions
from rankfair.stats.estimate import Estimate
from rankfair.stats.independence import IndependenceTest, independence_test

__all__ = [
    "Certificate",
    "Estimate",
    "IndependenceTest",
    "certify",
    "certify_predictions",
    "independence_test",
]
