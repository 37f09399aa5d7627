"""Files in and out: CSV and Parquet, read without a guess that changes a value.

`read_table` gives columns as arrays, `write_table` writes them whole or not at all, and
`learn_encoding` makes numbers of categories, the same ones for new rows.
"""

from rankfair.tables.encoding import Encoded, Encoding, learn_encoding
from rankfair.tables.errors import TableError
from rankfair.tables.read import read_table
from rankfair.tables.table import Table
from rankfair.tables.write import write_table

__all__ = [
    "Encoded",
    "Encoding",
    "Table",
    "TableError",
    "learn_encoding",
    "read_table",
    "write_table",
]
