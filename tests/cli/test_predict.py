import pytest

from rankfair.cli.data import ModelSettings
from rankfair.cli.fit import fit_files
from rankfair.cli.predict import predict_rows
from rankfair.files.columns import Reading, Roles
from rankfair.files.read import read_table
from rankfair.files.write import write_table
from rankfair.input.errors import TableError
from sheets import pay_csv, people, write_csv

PLAIN = Reading()
ROLES = Roles(target="pay", sensitive=("gender",), tasks=("job",))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    out = folder / "m.rankfair"
    seen = ModelSettings(blind=False)
    fit_files([pay_csv(folder)], ROLES, PLAIN, seen, out=out, folds=0)
    return str(out)


def test_rows_keep_their_columns_and_order(model, tmp_path):
    csv = pay_csv(tmp_path, seed=5)
    out = tmp_path / "p.csv"
    done = predict_rows(model, [csv], PLAIN, out=str(out), name="guess")
    before, after = read_table(csv), read_table(str(out))
    assert after.names == (*before.names, "guess")
    assert done.n_rows == after.n_rows
    for name in before.names:
        assert (before[name] == after[name]).all()


def test_parquet_and_csv_are_predicted_alike(model, tmp_path):
    csv = pay_csv(tmp_path, seed=5)
    parquet, out = str(tmp_path / "a.parquet"), str(tmp_path / "p.parquet")
    write_table(read_table(csv), parquet)
    from_csv = predict_rows(model, [csv], PLAIN, out=str(tmp_path / "p.csv"))
    from_parquet = predict_rows(model, [parquet], PLAIN, out=out)
    assert (from_csv.table["prediction"] == from_parquet.table["prediction"]).all()
    assert (read_table(out)["prediction"] == from_csv.table["prediction"]).all()


def test_only_some_columns_are_kept(model, tmp_path):
    done = predict_rows(
        model, [pay_csv(tmp_path)], PLAIN, out=str(tmp_path / "p.csv"), keep=["job"]
    )
    assert done.table.names == ("job", "prediction")


def test_new_rows_need_no_target(model, tmp_path):
    data = people(n=5)
    del data["pay"]
    csv = write_csv(tmp_path / "new.csv", data)
    done = predict_rows(model, [csv], PLAIN, out=str(tmp_path / "p.csv"))
    assert done.n_rows == 5


def test_unknown_categories_are_counted(model, tmp_path):
    data = people(n=5)
    data["education"] = ["none"] * 5
    csv = write_csv(tmp_path / "new.csv", data)
    done = predict_rows(model, [csv], PLAIN, out=str(tmp_path / "p.csv"))
    assert "5 rows have a category" in done.notes[0]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"job": ["vet"] * 5}, 'was not fitted to: "vet"'),
        (
            {"gender": ["x"] * 5},
            r'was not fitted to: "x"\. It knows "f", "m"\. Fit again with rows of such '
            "groups, or leave the cells empty",
        ),
        ({"age": ["old"] * 5}, "held numbers when the model was fitted"),
        ({"prediction": [1] * 5}, "--name"),
    ],
)
def test_rows_that_cannot_be_predicted_are_named(model, tmp_path, change, sentence):
    csv = write_csv(tmp_path / "new.csv", {**people(n=5), **change})
    with pytest.raises(ValueError, match=sentence):
        predict_rows(model, [csv], PLAIN, out=str(tmp_path / "p.csv"))
    assert not (tmp_path / "p.csv").exists()


def test_a_column_that_is_not_there_is_named(model, tmp_path):
    with pytest.raises(TableError, match='no column "agee"'):
        predict_rows(model, [pay_csv(tmp_path)], PLAIN, keep=["agee"])


def test_columns_that_the_model_does_not_need_do_not_stop_it(model, tmp_path):
    data = people(n=5)
    cells = [f"{pay:.2f}".replace(".", ",") for pay in data["pay"]]
    data["pay"] = [f'"{cell}"' for cell in cells]
    csv = write_csv(tmp_path / "new.csv", data)
    done = predict_rows(model, [csv], PLAIN, out=str(tmp_path / "p.csv"))
    assert done.table["pay"].tolist() == cells
    data["age"] = ['"30,5"'] * 5
    csv = write_csv(tmp_path / "new.csv", data)
    with pytest.raises(TableError, match="--decimal"):
        predict_rows(model, [csv], PLAIN, out=str(tmp_path / "p.csv"))
