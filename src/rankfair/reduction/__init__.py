"""Any scikit-learn regressor made fair by refits to tilted targets.

`reading` and `new` are the door, and `settings` checks what is asked for.  `refits`
turns an estimator into ``fit(target) → predictions``; `asked` says what is asked of
these, `demand` of two groups and `several` of more.  `loop` and `joint` search for the
tilt, the latter by `steer`; `either` takes the one or the other.  `maps` fits a
monotone map of the predictions of each group to the same targets, and `stages` searches
for the tilt of both.  `reached` tells what came of it, and `tilted` is the estimator.
"""

from rankfair.reduction.tilted import TiltedRegressor

__all__ = ["TiltedRegressor"]
