"""Projections onto the rank band: new predictions whose 2U lies inside it.

Both functions take predictions ``m`` (N,), the rows of group A ``in_a`` (N,) and a band
in 2U units, and look for new predictions with

    low <= twice_u(m[in_a], m[~in_a]) <= high.

The band must hold ``n_A n_B`` (AUC = 1/2); both groups have rows, so the paper's
scenario without a solution (``r_A^most < C``) cannot happen.  ``shift`` moves the two
groups as blocks, and where many pairs meet at once lets just enough of them pass;
``paper`` sets predictions to 0.  Both always end inside, and leave what is inside
alone.  Only ``shift`` takes weights: then it ends inside or as near as it finds, for
sums of products of weights need not fall into the band.

``swept`` moves groups of few values as wholes, so that the AUC of each over the rest is
in its band or as near as it finds.

``least_move`` brings the distributions of the groups together instead: ``samples`` is
the distribution of a group, ``chains`` the least movement under a slack.
"""

from rankfair.projections.distribution import least_move
from rankfair.projections.paper import paper
from rankfair.projections.shift import shift
from rankfair.projections.sweep import swept

__all__ = ["least_move", "paper", "shift", "swept"]
