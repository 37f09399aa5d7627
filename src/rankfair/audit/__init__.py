"""Audits: how predictions rank protected groups, measured with limits.

The package shares its name with its one function, so the module can be called too:
``rankfair.audit(…)`` works whichever of the two an earlier import left there.
"""

import sys
from types import ModuleType

from rankfair.audit.api import audit
from rankfair.audit.gate import Gate
from rankfair.audit.records import Audit

__all__ = ["Audit", "Gate", "audit"]


class _Callable(ModuleType):
    __call__ = staticmethod(audit)


sys.modules[__name__].__class__ = _Callable
