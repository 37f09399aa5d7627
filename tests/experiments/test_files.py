import csv
import io

import pytest

from rankfair.experiments.files import as_csv
from rankfair.input.disk import write_whole


def test_csv_gives_the_numbers_back(small):
    lines = list(csv.DictReader(io.StringIO(as_csv(small.records))))
    assert len(lines) == len(small.records)
    for line, record in zip(lines, small.records, strict=True):
        assert list(line) == list(record)
        assert float(line["rmse"]) == record["rmse"]
        assert line["note"] == record["note"]


def test_a_file_that_cannot_be_finished_leaves_the_old_one(tmp_path, monkeypatch):
    path = write_whole(tmp_path / "a.txt", "old")

    def full(stream):
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="disk full"):
        write_whole(path, b"new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
