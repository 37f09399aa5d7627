"""Any scikit-learn regressor made fair by a fit to tilted targets.

`reading` reads rows, `refits` turns an estimator into ``fit(target) → predictions``,
`search` finds the tilt, `reached` tells what came of it, and `tilted` is the estimator.
"""

from rankfair.reduction.tilted import TiltedRegressor

__all__ = ["TiltedRegressor"]
