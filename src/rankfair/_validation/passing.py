"""Labels on their way to ``predict``, of a model or of the last step of a pipeline."""

from __future__ import annotations

import inspect
from typing import Any

from sklearn import get_config
from sklearn.pipeline import Pipeline

__all__ = ["reader_of"]


def reader_of(model: Any, name: str) -> Any:
    """Return who reads labels that ``model.predict`` is given by name, None if nobody.

    Of a pipeline it is the last step.  With metadata routing enabled a step gets only
    what it asked for.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> reader_of(make_pipeline(Ridge()), "sensitive_features") is None
    True
    """
    if not isinstance(model, Pipeline):
        takes = inspect.signature(model.predict).parameters
        return model if name in takes else None
    last = model.steps[-1][1]
    reader = reader_of(last, name)
    if reader is not last or not get_config()["enable_metadata_routing"]:
        return reader
    asked = last.get_metadata_routing().consumes("predict", [name])
    return reader if name in asked else None
