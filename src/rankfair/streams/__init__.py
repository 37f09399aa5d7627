"""Rows that are not in memory: Parquet files, Dask frames, and what their columns are.

`stream` names files; `RankFairRegressor.fit` reads them as often as it has to.
"""

from rankfair.streams.files import Stream, is_elsewhere, stream
from rankfair.streams.opening import Opened, layout_of, open_rows
from rankfair.streams.predicting import predict_elsewhere, predict_parquet

__all__ = [
    "Opened",
    "Stream",
    "is_elsewhere",
    "layout_of",
    "open_rows",
    "predict_elsewhere",
    "predict_parquet",
    "stream",
]
