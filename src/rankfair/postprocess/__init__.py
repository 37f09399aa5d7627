"""Maps of predictions by group, for models that are not refitted.

``standing`` counts how groups stand and how far outside a band that is, ``maps`` has
the ways from free to fair and how far to go on them.  ``estimator`` is scikit-learn's
shape around it: ``readings`` and ``groups`` check, ``predictions`` fits and predicts,
and ``outcome`` learns the maps and says what came of it.
"""

from rankfair.postprocess.estimator import RankFairPostprocessor

__all__ = ["RankFairPostprocessor"]
