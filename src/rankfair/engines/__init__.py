"""Where the rows are: the operations a fit needs over them, and nothing else."""

from rankfair.engines.base import Asked, Engine, Field, Moving

__all__ = ["Asked", "Engine", "Field", "Moving"]
