from paper.summary import Summary
from paper.tables import tables_of

EVIL = '<script>alert("1")</script>'


def record(method, repeat, rows="train", **measures):
    head = {"kind": "table", "data": "wine", "method": method, "repeat": repeat}
    return head | {"rows": rows, "n": 10, "n_a": 4} | measures


# By hand, so that means and deviations are known.
SMALL = [
    record("Data", 0, auc=0.8, md=1.0, br=0.0, irr=1.6, rmse=0.0, ks=0.5),
    record("Rank", 0, auc=0.498, md=0.1, br=0.9, irr=0.99, rmse=0.70, ks=0.2),
    record("Rank", 1, auc=0.500, md=0.3, br=0.7, irr=1.00, rmse=0.74, ks=0.2),
    record("Rank", 0, "held-out", auc=0.51, rmse=0.8),
    record("SDBC", 0, auc=0.45, md=0.0, br=1.0, irr=0.9, rmse=0.72, ks=0.1),
    record("unconstrained", 0, auc=0.9, md=1.0, br=0.0, irr=2.0, rmse=0.3, ks=0.7),
    {"kind": "table", "data": "wine", "method": "SSEM s=2", "error": EVIL},
]
EXPECTED = """\
| | Data | Rank | SSEM s=2
|---|---|---|---
| **Wine (10 rows, \\|A\\| = 4; penalty task, β = 1, ε = 0)** | | |
| AUC | 0.800<br>(0.769) | **0.501 ± 0.001**<br>(0.489 ± 0.014) | failed<br>(0.764)
| MD | 1.000<br>(-0.563) | 0.200 ± 0.141<br>(-0.053 ± 0.028) | failed<br>(-1.537)
| BR | – | **0.800 ± 0.141**<br>(-0.351 ± 0.217) | failed<br>(-0.356)
| IRR | 0.625<br>(0.611) | **0.995 ± 0.007**<br>(1.020 ± 0.029) | failed<br>(0.622)
| RMSE | – | 0.720 ± 0.028 | failed
| KS | 0.500 | 0.200 ± 0.000 | failed
| Wasserstein | – | – | failed
| RMSE, held out | – | 0.800 | failed
| AUC, held out | – | 0.510 | failed
"""


def cells(text):
    """Return the cells of all lines of tables; an escaped bar is text."""
    lines = (line for line in text.splitlines() if line.startswith("|"))
    parts = (line.replace("\\|", "¦").split("|")[1:-1] for line in lines)
    return [[cell.strip().replace("¦", "\\|") for cell in line] for line in parts]


def test_a_table_is_regenerated_from_its_records():
    text = tables_of(Summary(SMALL), ["wine"], {})
    assert text.startswith("### Table III. Real data: the paper's columns\n\n| | Data")
    found = cells(text)[: len(EXPECTED.splitlines())]
    assert [line[:4] for line in found] == cells(EXPECTED.replace("\n", " |\n"))
