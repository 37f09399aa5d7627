from rankfair.cli.tables import table_lines
from rankfair.experiments.methods import METHODS
from rankfair.experiments.table import HEAD, LEGEND, cells, errors, notes


def test_every_method_has_a_line_that_says_if_it_needs_the_group(small):
    rows = cells(small.summary)
    assert [row[:2] for row in rows] == [
        (name, method.needs_group) for name, method in METHODS.items()
    ]
    assert all(len(row) == len(HEAD) for row in rows)


def test_numbers_are_the_means_of_the_records_and_fit_80_columns(small):
    rows = cells(small.summary)
    assert max(map(len, table_lines(HEAD, rows))) <= 80
    for name, _, rmse, auc, md, ks, train_rmse, train_auc in rows:
        for kind, shown in (
            ("held-out", {"rmse": rmse, "auc": auc, "md": md, "ks": ks}),
            ("train", {"rmse": train_rmse, "auc": train_auc}),
        ):
            own = [r for r in small.records if (r["method"], r["rows"]) == (name, kind)]
            for figure, text in shown.items():
                mean = sum(r[figure] for r in own) / len(own)
                assert abs(float(text) - mean) <= 0.0005 + 1e-12


def test_standard_errors_are_the_largest_of_held_out_rows(small):
    rows = [row for row in small.summary if row.rows == "held-out"]
    said = errors(small.summary, 3)
    for name in ("rmse", "auc", "md", "ks"):
        most = max(getattr(row, name).error for row in rows)
        assert f"{most:.4f} ({name.upper()})" in said


def test_every_column_is_explained():
    for name in HEAD[1:6]:
        assert any(f"{name}:" in text for text in LEGEND)


def test_a_note_is_told_once_for_a_method(small):
    (note,) = notes(small.records)
    assert note.startswith("paper's solver, in 3 of 3 draws: ")


def test_no_warning_no_note(small):
    rest = [row for row in small.records if row["method"] != "paper's solver"]
    assert notes(rest) == []
