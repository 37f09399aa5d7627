"""Where the rows are: the operations a fit needs over them, and nothing else."""

from rankfair.engines.base import Engine

__all__ = ["Engine"]
