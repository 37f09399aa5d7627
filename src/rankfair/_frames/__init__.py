"""Users' tables and label columns as plain arrays, whatever type they came as.

A table gives its columns by position; a column is an ndarray or a narwhals Series.
`numbers` makes floats of columns, `find_labels` makes codes of them.
"""

from rankfair._frames.labels import (
    encode,
    find_known,
    find_labels,
    label_array,
    recode,
)
from rankfair._frames.numbers import (
    column_numbers,
    exact_order,
    is_missing,
    unmasked,
)
from rankfair._frames.tables import (
    ArrayTable,
    FrameTable,
    PartTable,
    Table,
    as_columns,
    open_table,
    values_shape,
)
from rankfair._frames.words import Codes, Column, Floats, counted, listed, shown

__all__ = [
    "ArrayTable",
    "Codes",
    "Column",
    "Floats",
    "FrameTable",
    "PartTable",
    "Table",
    "as_columns",
    "column_numbers",
    "counted",
    "encode",
    "exact_order",
    "find_known",
    "find_labels",
    "is_missing",
    "label_array",
    "listed",
    "open_table",
    "recode",
    "shown",
    "unmasked",
    "values_shape",
]
