"""The door: protected attributes as groups of rows, and as predictors.

A row whose label is missing (None, NaN, NA or NaT; not empty text) is of unknown group,
code −1: it is part of the data, and of no group.
"""

from rankfair._groups.bins import bin_labels, cut_at, quantile_places
from rankfair._groups.cells import crossed, plain_labels
from rankfair._groups.checks import (
    CUT_FIRST,
    MOST_GROUPS,
    check_groups,
    refuse_quantity,
)
from rankfair._groups.encoder import Encoder, encoder_of
from rankfair._groups.labels import group_labels, label_table, passed_columns, spelt
from rankfair._groups.reading import Protected, read_attributes, read_groups
from rankfair._groups.records import Bools, Groups, Source, masks_of

__all__ = [
    "CUT_FIRST",
    "MOST_GROUPS",
    "Bools",
    "Encoder",
    "Groups",
    "Protected",
    "Source",
    "bin_labels",
    "check_groups",
    "crossed",
    "cut_at",
    "encoder_of",
    "group_labels",
    "label_table",
    "masks_of",
    "passed_columns",
    "plain_labels",
    "quantile_places",
    "read_attributes",
    "read_groups",
    "refuse_quantity",
    "spelt",
]
