"""Audits: how predictions rank groups, with confidence intervals.

The package shares its name with its one function, so it can be called itself:
``rankfair.audit(y, predictions, sensitive_features=…)``, whatever was imported before.
"""

import sys
from inspect import signature
from types import ModuleType
from typing import Any

from rankfair.audit.api import audit
from rankfair.audit.records import Audit, Gate

__all__ = ["Audit", "Gate", "audit"]


class _Callable(ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> Audit:
        return audit(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
__signature__ = signature(audit)
