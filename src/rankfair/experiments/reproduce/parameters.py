"""What cross-validation chose, in words: the table of parameters of the docs page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rankfair.experiments.reproduce.settings import Settings
from rankfair.experiments.reproduce.summary import Summary
from rankfair.experiments.reproduce.tables import title_of
from rankfair.experiments.reproduce.tuning import candidates

__all__ = ["DEFAULT", "Extremes", "Parameters", "extremes", "parameters"]

DEFAULT = "default (cross-validation failed)"


class Parameters(NamedTuple):
    """The parameters of a dataset; the errors are those of the best β of a penalty."""

    title: str
    penalty: str
    beta: str
    error_of_task: str
    error_of_shared: str
    beta_paper: str
    epsilon: str
    trade_off: str


class Extremes(NamedTuple):
    """In how many datasets the least fair candidates were chosen."""

    largest_epsilon: int
    epsilons: int
    smallest_trade_off: int
    trade_offs: int


def parameters(summary: Summary, data: str) -> Parameters:
    """Return the parameters of a dataset as text.

    Parameters
    ----------
    summary : Summary
        Of the records.
    data : str
        The dataset.

    Returns
    -------
    Parameters
        Where cross-validation failed, this is said.

    Examples
    --------
    >>> tried = {"kind": "cv", "data": "wine", "method": "beta"}
    >>> found = parameters(Summary([tried | {"value": 10.0, "rmse": 0.5}]), "wine")
    >>> found.penalty, found.beta, found.error_of_task, found.epsilon
    ('task', '10', '0.5000', '–')
    """
    tried = {it: _tried(summary, data, it) for it in ("beta", "beta_shared")}
    chosen = summary.choices(data)
    known = any(summary.tried(data, name) for name in tried)
    return Parameters(
        title_of(data),
        chosen["penalty"] if known else tried["beta"],
        f"{chosen['beta']:g}" if known else tried["beta"],
        *tried.values(),
        *(
            f"{chosen[name]:g}"
            if summary.tried(data, name)
            else _why(summary, data, name)
            for name in ("beta_paper", "epsilon", "trade_off")
        ),
    )


def _tried(summary: Summary, data: str, parameter: str) -> str:
    """The least error, or why there is none."""
    errors = summary.tried(data, parameter)
    return f"{min(errors.values()):.4f}" if errors else _why(summary, data, parameter)


def _why(summary: Summary, data: str, parameter: str) -> str:
    return DEFAULT if parameter in summary.untuned(data) else "–"


def extremes(summary: Summary, data: Sequence[str], settings: Settings) -> Extremes:
    """Count where the error alone chose the largest ε and the smallest trade-off.

    Parameters
    ----------
    summary : Summary
        Of the records.
    data : sequence of str
        The datasets whose records are there.
    settings : Settings
        With the candidates.

    Returns
    -------
    Extremes

    Examples
    --------
    >>> extremes(Summary([]), ["wine"], Settings())
    Extremes(largest_epsilon=0, epsilons=0, smallest_trade_off=0, trade_offs=0)
    """
    ends = {
        "epsilon": max(candidates("epsilon", settings)),
        "trade_off": min(candidates("trade_off", settings)),
    }
    counts: list[int] = []
    for parameter, end in ends.items():
        tuned = [name for name in data if summary.tried(name, parameter)]
        chosen = [summary.choices(name)[parameter] for name in tuned]
        counts += [chosen.count(end), len(tuned)]
    return Extremes(*counts)
