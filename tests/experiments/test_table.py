import io

import pytest
from rich.console import Console

from rankfair.experiments.methods import METHODS
from rankfair.experiments.table import notes, plain_table, rich_table


def rich_text(records):
    console = Console(file=io.StringIO(), width=80)
    console.print(rich_table(records, strong="tilt"))
    return console.file.getvalue()


@pytest.mark.parametrize("render", [plain_table, rich_text])
def test_every_method_has_a_line_on_train_and_on_held_out_rows(small, render):
    above, below = render(small.table).split("held-out rows")
    assert "training rows" in above
    for part in (above, below):
        starts = [line.strip() for line in part.splitlines()]
        for name in METHODS:
            assert sum(line.startswith(name) for line in starts) == 1


@pytest.mark.parametrize("render", [plain_table, rich_text])
def test_numbers_are_those_of_the_records_and_fit_80_columns(small, render):
    text = render(small.table)
    assert all(len(line) <= 80 for line in text.splitlines())
    for row in small.table:
        assert f"{row['rmse']:.3f}" in text
        assert f"{row['auc']:.4f}" in text
        assert f"{row['ks']:.3f}" in text


def test_a_note_is_told_once_for_a_method(small):
    (note,) = notes(small.table)
    assert note.startswith("NC-ADMM (paper): ")
    assert all(len(line) <= 80 for line in note.splitlines())


def test_no_warning_no_note(small):
    assert notes(row for row in small.table if row["method"] == "tilt") == []
