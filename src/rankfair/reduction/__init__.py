"""Any scikit-learn regressor made fair by refits to tilted targets.

`refits` turns an estimator into ``fit(target) → predictions``, `demand` says what is
asked of predictions, `loop` searches for the tilt; `maps` fits a monotone map of the
predictions of each group to the same targets, and `stages` searches for the tilt of
both; `tilted` is the estimator.
"""

from rankfair.reduction.tilted import TiltedRegressor

__all__ = ["TiltedRegressor"]
