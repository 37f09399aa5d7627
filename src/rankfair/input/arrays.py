"""Names of the arrays that checked input consists of."""

from __future__ import annotations

from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.intp]
Column: TypeAlias = "NDArray[Any] | nw.Series[Any]"
Bools: TypeAlias = NDArray[np.bool_]
