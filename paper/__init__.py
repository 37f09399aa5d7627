"""The paper's experiments, made again: `make reproduction`, or `python -m paper`.

`settings` says what to run, `cases` gives the rows, `methods` holds the columns of the
tables. A cell is a method on a dataset in a repeat: `cells` makes records of it,
`tuning` is its cross-validation, and `run` does them all in parallel, with a cache on
disk. `summary` alone turns records into means; `printed`, `claims`, `tables`, `figures`
and `page` only show them.
"""
