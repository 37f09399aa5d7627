"""Maps of predictions by group, for models that are not refitted.

``samples`` is the distribution of a group, ``chains`` the least movement under a slack,
``maps`` what is asked for, ``estimator`` scikit-learn's shape around it.
"""

from rankfair.postprocess.estimator import RankFairPostprocessor

__all__ = ["RankFairPostprocessor"]
