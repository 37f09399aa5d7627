"""Maps of predictions by group, for models that are not refitted.

``maps`` is what is asked for, made of the least movement in ``projections``;
``estimator`` is scikit-learn's shape around it.
"""

from rankfair.postprocess.estimator import RankFairPostprocessor

__all__ = ["RankFairPostprocessor"]
