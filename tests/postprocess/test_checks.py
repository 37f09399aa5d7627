"""What scikit-learn asks of an estimator."""

import pytest
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankfair import RankFairPostprocessor


@pytest.mark.filterwarnings("ignore:sensitive_features was not given:UserWarning")
@parametrize_with_checks(
    [
        RankFairPostprocessor(Ridge()),
        RankFairPostprocessor(Ridge(), constraints="wasserstein"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
