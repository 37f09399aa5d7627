"""The door: what users pass becomes plain, checked arrays, or a sentence says why not.

Everything is checked here, once; inside, the arrays are trusted.  A row of weight zero
counts as absent: it is checked like the others and then left out, with its task if no
other row is of that task.
"""

from rankfair._groups import Encoder
from rankfair._validation.checks import (
    check_bins,
    check_choice,
    check_count,
    check_flag,
    check_lengths,
    check_number,
    check_seed,
    check_verbose,
    nearest,
    values_to_try,
)
from rankfair._validation.columns import (
    column_name,
    group_mask,
    is_reference,
    label_source,
    label_source_of,
    label_source_of_rows,
    resolve_columns,
)
from rankfair._validation.new import (
    SORTED_ROWS,
    UnseenError,
    as_in_training,
    check_same_source,
    has_names,
    read_new,
    refuse_retyped,
    refuse_unseen,
)
from rankfair._validation.passing import naming, reader_of
from rankfair._validation.records import (
    Columns,
    Layout,
    Named,
    Rows,
    feature_record,
    is_pair,
)
from rankfair._validation.training import read_given, read_training, task_labels
from rankfair._validation.values import (
    finite_predictions,
    read_ranked,
    read_target,
    read_weights,
)

# Model files name `Encoder` and `Layout` as records of this module.
__all__ = [
    "SORTED_ROWS",
    "Columns",
    "Encoder",
    "Layout",
    "Named",
    "Rows",
    "UnseenError",
    "as_in_training",
    "check_bins",
    "check_choice",
    "check_count",
    "check_flag",
    "check_lengths",
    "check_number",
    "check_same_source",
    "check_seed",
    "check_verbose",
    "column_name",
    "feature_record",
    "finite_predictions",
    "group_mask",
    "has_names",
    "is_pair",
    "is_reference",
    "label_source",
    "label_source_of",
    "label_source_of_rows",
    "naming",
    "nearest",
    "read_given",
    "read_new",
    "read_ranked",
    "read_target",
    "read_training",
    "read_weights",
    "reader_of",
    "refuse_retyped",
    "refuse_unseen",
    "resolve_columns",
    "task_labels",
    "values_to_try",
]
