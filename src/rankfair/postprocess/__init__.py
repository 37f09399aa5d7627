"""Maps of predictions by group, for models that are not refitted.

``samples`` is the distribution of a group, ``chains`` the least movement under a slack,
``levels`` the common values it is put on, ``search`` the slack for an AUC, ``shifts``
the constant shift, ``maps`` one balance each, ``means`` means held as well, ``demands``
what is asked for, and ``follow`` where unseen values go.  ``estimator`` is
scikit-learn's shape around it: ``settings`` and ``readings`` check, ``predictions``
fits and predicts, ``learning`` makes the maps, from ``lines`` through the target if
asked, and ``outcome`` says what came of it.
"""

from rankfair.postprocess.estimator import RankFairPostprocessor

__all__ = ["RankFairPostprocessor"]
