"""Post-processing the same predictions: ours, EquiPy, a linear programme, a shift.

    python -m benchmarks.post                  all data and the cost, printed
    python -m benchmarks.post wine income      some data
    python -m benchmarks.post cost             the cost only
    python -m benchmarks.post choice           the line against the least movement
    python -m benchmarks.post --write docs     into docs/maps.md, with its picture
    python -m benchmarks.post --resume         keep what is in results/post/

An estimator is fitted on 40 % of the rows, maps are learnt on its predictions of 30 %,
and all are judged on the last 30 %, on several splits.  EquiPy is no dependency:
without ``pip install equipy`` its rows are left out.
"""
