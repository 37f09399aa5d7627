"""Ours against other packages: same rows, same base learner, same run.

    python -m benchmarks.rivals              everything, into docs/rivals.md
    python -m benchmarks.rivals --quick      two seeds, no more than 10⁴ rows
    python -m benchmarks.rivals --resume     keep the cells of results/rivals/
    python -m benchmarks.rivals --page       write the page from those cells

A *cell* is a method on a dataset, in a process of its own.
"""
