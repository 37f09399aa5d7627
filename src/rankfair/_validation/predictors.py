"""Predictors as numbers, protected ones as indicators of groups."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rankfair._frames import ArrayTable, Codes, Floats, Table
from rankfair._groups import Encoder
from rankfair._validation.records import Layout
from rankfair._validation.values import refuse_infinite

__all__ = ["read_predictors"]


def read_predictors(
    table: Table, layout: Layout, of_columns: Mapping[int, Codes]
) -> Floats:
    """Return the predictors as numbers; protected ones as indicators of groups.

    ``of_columns`` holds the group of each row by column of X.
    """
    encoders = {
        each.column: each
        for each in layout.protected
        if not _is_coded(table, each, of_columns.get(each.column))
    }
    if not encoders:
        X = table.numbers(layout.predictors)
    else:
        X = _encoded(table, layout, encoders, of_columns)
    refuse_infinite(X, layout.names)
    return X


def _encoded(
    table: Table,
    layout: Layout,
    encoders: Mapping[int, Encoder],
    of_columns: Mapping[int, Codes],
) -> Floats:
    X = np.empty((table.shape[0], len(layout.names)))
    behind = [j for j, each in encoders.items() if each.apart]
    at = {j: i for i, j in enumerate(j for j in layout.predictors if j not in behind)}
    plain = [j for j in at if j not in encoders]
    X[:, [at[j] for j in plain]] = table.numbers(plain)
    end = len(at)
    for j, each in encoders.items():
        if each.labels is None:
            X[:, at[j]] = each.filled(table.numbers([j])[:, 0])
        elif not each.apart:
            X[:, at[j]] = each.columns_of(of_columns[j])[:, 0]
        else:
            X[:, end : end + len(each.names)] = each.columns_of(of_columns[j])
            end += len(each.names)
    return X


def _is_coded(table: Table, each: Encoder, codes: Codes | None) -> bool:
    """Tell whether the protected column can stay what it is: 0 for B and 1 for A."""
    if not isinstance(table, ArrayTable) or table.values.dtype.kind not in "biuf":
        return False
    if codes is None or each.labels is None:
        return False
    return each.labels.tolist() == [0, 1] and bool((codes >= 0).all())
