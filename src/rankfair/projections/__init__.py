"""Projections: the nearest predictions that meet a constraint, or near ones.

``shift`` and ``paper`` take predictions ``m`` (N,), the rows of group A ``in_a`` (N,)
and a band in 2U units, and look for new predictions with

    low <= twice_u(m[in_a], m[~in_a]) <= high.

The band must hold ``n_A n_B`` (AUC = 1/2); both groups have rows, so the paper's
scenario without a solution (``r_A^most < C``) cannot happen.  ``shift`` moves the two
groups as blocks, and ends inside or, where predictions tie, as near as blocks can;
``paper`` sets predictions to 0 and always ends inside.  Both leave what is inside
alone.  Only ``shift`` takes weights.

``least_movement`` brings the distributions of any number of groups together instead.
"""

from rankfair.projections.least_movement import Sample, least_movement
from rankfair.projections.paper import paper
from rankfair.projections.shift import shift

__all__ = ["Sample", "least_movement", "paper", "shift"]
