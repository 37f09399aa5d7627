"""Small CSV files for tests of the commands and of what is behind them."""

import numpy as np

COLUMNS = ("job", "gender", "age", "education", "pay")


def people(n=150, seed=0, groups="fm", jobs=("nurse", "clerk", "cook")):
    """Return columns of a pay roll in which the last group is paid more."""
    rng = np.random.default_rng(seed)
    gender = rng.choice(list(groups), n)
    education = rng.choice(["low", "mid", "high"], n)
    age = rng.integers(20, 65, n)
    more = 3.0 * (gender == groups[-1]) + 2.0 * (education == "high")
    pay = np.round(20 + 0.2 * age + more + rng.normal(0, 2, n), 2)
    job = rng.choice(list(jobs), n)
    return dict(zip(COLUMNS, (job, gender, age, education, pay), strict=True))


def write_csv(path, columns, blank=()):
    """Write columns; `blank` are pairs (row, column) whose cell is left empty."""
    cells = {name: [str(v) for v in values] for name, values in columns.items()}
    for row, name in blank:
        cells[name][row] = ""
    lines = [",".join(cells), *map(",".join, zip(*cells.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def pay_csv(folder, name="pay.csv", **settings):
    """Write a pay roll and return its path."""
    return write_csv(folder / name, people(**settings))


def at_auc(wins, n=10):
    """Return predictions and groups: `wins` of n² pairs are won by group "m"."""
    below = np.arange(1, n + 1.0)
    full, rest = divmod(wins, n)
    above = [n + 0.5] * full + ([rest + 0.5] if full < n else [])
    above += [0.5] * (n - len(above))
    return {"p": np.concatenate([below, above]), "g": ["f"] * n + ["m"] * n}
