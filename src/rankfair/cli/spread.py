"""Options that several commands share: records whose fields a command spreads."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any

__all__ = ["dataclass", "expanded"]


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """Spread parameters that are bundles into their fields, as options of a command.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Out:
    ...     quiet: bool = False
    >>> def show(name: str, out: Out) -> None:
    ...     print(name, out.quiet)
    >>> spread = expanded(show)
    >>> list(inspect.signature(spread).parameters)
    ['name', 'quiet']
    >>> spread(name="a", quiet=True)
    a True
    """
    parameters: list[inspect.Parameter] = []
    bundles: dict[str, tuple[Any, list[str]]] = {}
    for own in inspect.signature(command).parameters.values():
        if not is_dataclass(own.annotation):
            parameters.append(own.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        inside = fields(own.annotation)
        bundles[own.name] = own.annotation, [each.name for each in inside]
        parameters += [
            inspect.Parameter(
                each.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty
                if each.default is MISSING
                else each.default,
                annotation=each.type,
            )
            for each in inside
        ]

    @functools.wraps(command)
    def spread(**given: Any) -> None:
        packed = {
            name: bundle(**{field: given.pop(field) for field in names})
            for name, (bundle, names) in bundles.items()
        }
        command(**given, **packed)

    spread.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    spread.__annotations__ = {each.name: each.annotation for each in parameters}
    return spread
