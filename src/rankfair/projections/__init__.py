"""Projections onto the rank band: new predictions whose 2U lies inside it.

Both functions take predictions ``m`` (N,), the rows of group A ``in_a`` (N,) and a band
in 2U units, and look for new predictions with

    low <= twice_u(m[in_a], m[~in_a]) <= high.

The band must hold ``n_A n_B`` (AUC = 1/2); both groups have rows, so the paper's
scenario without a solution (``r_A^most < C``) cannot happen.  ``shift`` moves the two
groups as blocks, and ends at the nearest side where ties jump across the band;
``paper`` sets predictions to 0, and always ends inside.
"""

from rankfair.projections.paper import paper
from rankfair.projections.shift import shift

__all__ = ["paper", "shift"]
