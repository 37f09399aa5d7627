"""Commands on files: exit codes, JSON by its schema, tables, pipes."""

import json
import re
import shlex
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commands import COMMON, run, valid
from rankfair.files.archive import unpack
from rankfair.files.read import read_table
from saved import mutated, tampered
from sheets import pay_csv, people, write_csv
from tools import schema as schemas


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A pay roll and a model of it."""
    folder = tmp_path_factory.mktemp("made")
    csv, model = pay_csv(folder), folder / "m.rankfair"
    options = [*COMMON, "--no-blind", "--folds", 0, "-o", model, "--notes", "A note."]
    run("fit", csv, *options, code=0)
    return csv, str(model)


def test_schemas_are_made_from_the_records():
    for path, found in schemas.files().items():
        assert json.loads(path.read_text("utf-8")) == found, "make schema"


# The gate


def test_fit_has_the_same_gate(tmp_path, made):
    csv, _ = made
    options = [csv, *COMMON, "--folds", 2, "--max-gap"]
    assert run("fit", *options, "0.5").exit_code == 0
    assert run("fit", *options, "0").exit_code == 1
    data = people(n=30, groups="ff")
    data["gender"][0] = "m"
    few = write_csv(tmp_path / "few.csv", data)
    done = run("fit", few, *COMMON, "--max-gap", "0.1")
    assert done.exit_code == 3
    assert "--folds 0" in done.stderr
    done = run("fit", few, *COMMON, "--max-gap", "0.1", "--folds", 0)
    assert done.exit_code == 3


# Bad usage and bad data: code 2 and one sentence that names what to mend

BAD = [
    ("audit pay.csv", "--sensitive"),
    ("audit pay.csv --sensitive gender", "--prediction, --model or --target"),
    ("audit none.csv {common}", "none.csv cannot be read"),
    ("audit {common}", "FILE"),
    ("audit empty.csv {common}", "empty.csv is empty"),
    ("audit head.csv {common}", "head.csv has a header, but no rows"),
    ("audit pay.csv {common} --prediction pay", "one role"),
    ("audit pay.csv {common} --confidence 2", "--confidence must be"),
    ("audit pay.csv {common} --max-gap nan", "--max-gap"),
    ("audit pay.csv {common} --max-gap 0.6", "--max-gap"),
    ("audit pay.csv {common} --html .", "directory"),
    ("audit pay.csv {common} --html pay.csv", "would be written over"),
    ("audit pay.csv {common} --html pay.csv/a.html", "cannot be written"),
    ("audit pay.csv {common} --out pay.csv", "would be written over"),
    ("audit pay.csv {common} --out - --json", "not both"),
    ("audit pay.csv {common} --html no/x.html", "there is no folder no."),
    ("fit pay.csv {common} -o no/m.rankfair", "there is no folder no."),
    ("predict m.rankfair pay.csv -o t.xls", "would not be a .xls file"),
    ("audit pay.csv {common} -o t.tsv", "would not be a .tsv file"),
    ("audit pay.csv {common} --text pay", "needs numbers"),
    ("audit pay.csv {common} --bins 2", "--bins 2 cuts numbers"),
    ("audit pay.csv {common} --model pay.csv", "no sound model file"),
    ("audit one.csv {common}", "one group only"),
    ("fit pay.csv --sensitive gender", "--target"),
    ("fit one.csv {common}", "nothing to compare"),
    ("fit pay.csv {common} --constraint foo", "'foo' is not one of"),
    ("fit pay.csv {common} --constraint ranks", "--constraint': 'ranks' is not one of"),
    ("fit pay.csv {common} --scope foo", "'foo' is not one of"),
    ("fit pay.csv {common} --penalty foo", "'foo' is not one of"),
    ("fit pay.csv {common} --beta foo", "a number or auto"),
    ("fit pay.csv {common} --beta -1", "--beta must be a number"),
    ("fit pay.csv {common} --epsilon 1", "--epsilon must be"),
    ("fit pay.csv {common} --epsilon nan", "--epsilon"),
    (
        "fit pay.csv {common} --epsilon 0.1 --epsilon 0.2",
        "2 times for 1 constraint: give",
    ),
    (
        "fit pay.csv {common} --constraint rank --constraint mean"
        " --epsilon 0.1 --epsilon 0.2 --epsilon 0.3",
        "3 times for 2 constraints: give it once for all, or once for each "
        "--constraint",
    ),
    (
        "compare pay.csv {common} --epsilon 0.1 --epsilon 0.2",
        "2 times, but it takes one",
    ),
    ("path pay.csv {common} --folds 3 --folds 4", "--folds: given 2 times, but"),
    ("fit pay.csv {common} --folds 1", "0, or 2 and more"),
    ("fit pay.csv {common} --drop agee", 'Did you mean "age"'),
    ("fit pay.csv {common} --feature agee", 'Did you mean "age"'),
    ("fit pay.csv {common} -o model.csv", "named like a table"),
    ("fit pay.csv {common} --max-categories 2", "--max-categories 3"),
    ("predict pay.csv pay.csv", "no sound model file"),
    ("predict m.rankfair vet.csv", "--penalty shared --unseen shared"),
    ("predict m.rankfair vet1.csv", '"job": 1 row has a task that m.rankfair was not'),
    ("predict m.rankfair x.csv", '"gender": has a group that m.rankfair was not'),
    ("predict m.rankfair gap.csv", 'gap.csv, line 2, column "job": 1 cell is empty'),
    ("predict pay.csv m.rankfair", "MODEL comes first: rankfair predict m.rankfair"),
    ("audit pay.csv --target job --sensitive gender", "Is it the column you meant?"),
    ("audit pay.csv ./pay.csv {common}", "./pay.csv is named twice"),
    ("predict m.rankfair pay.csv -o m.rankfair", "would be written over"),
    ("predict m.rankfair pay.csv --name pay", "--name"),
    ("path pay.csv {common} --at -1", "--at must be"),
    ("path pay.csv {common} --at nan", "--at must be"),
    ("path pay.csv {common} --at 0.1 --at 0.7", "--at must be a number in [0, 0.5]"),
    (
        "path no.csv {common} --constraint distribution --at 1.1",
        "--at must be a number in [0, 1]; got 1.1",
    ),
    ("compare pay.csv {common} --epsilon 0.7", "--epsilon must be a number in [0, 0.5"),
    (
        "path pay.csv {common} --constraint mean",
        "--at is needed with --constraint mean",
    ),
    ("compare pay.csv {common} --method foo", '"NC-ADMM"'),
    ("compare pay.csv {common} --folds 1", "--folds"),
    ("audit pay.csv {common} --intersect", "combines two or more columns"),
    ("path pay.csv {common} --intersect", "combines two or more columns"),
    ("path pay.csv {common} --sensitive education", "with --intersect"),
    ("fit pay.csv {common} -o a.model --html ./a.model", "named twice"),
    ("predict m.rankfair pay.csv -o a.csv --name ''", "another name with --name"),
    ("audit pay.csv {common} --file-column ' '", "Give --file-column another name"),
    ("describe pay.csv", "no sound model file"),
    ("export-onnx pay.csv a.onnx", "no sound model file"),
    ("export-onnx m.rankfair m.rankfair", "would be written over"),
]


@pytest.fixture
def here(made, tmp_path, monkeypatch):
    """A folder with files, good and bad."""
    csv, model = made
    monkeypatch.chdir(tmp_path)
    Path("pay.csv").write_bytes(Path(csv).read_bytes())
    Path("m.rankfair").write_bytes(Path(model).read_bytes())
    Path("empty.csv").write_text("")
    Path("head.csv").write_text("job,gender,age,education,pay\n")
    write_csv(Path("one.csv"), people(n=20, groups="ff"))
    write_csv(Path("vet.csv"), people(n=5, jobs=["vet"]))
    write_csv(Path("vet1.csv"), people(n=1, jobs=["vet"]))
    write_csv(Path("x.csv"), people(n=3, groups="xx"))
    write_csv(Path("gap.csv"), people(n=3), [(0, "job")])
    return tmp_path


@pytest.mark.parametrize(("line", "sentence"), BAD)
def test_what_a_user_can_mend_is_a_sentence_and_code_2(here, line, sentence):
    before = {path: path.read_bytes() for path in here.iterdir()}
    done = run(*shlex.split(line.format(common=shlex.join(COMMON))))
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert done.stdout == ""
    assert {path: path.read_bytes() for path in here.iterdir()} == before


@pytest.mark.parametrize("name", ["beta=2", "scope=task", "sensitive_features"])
def test_names_that_look_like_arguments_stay_names(tmp_path, name):
    csv = write_csv(tmp_path / "a.csv", {name: [1, 2], "sex": ["f", "m"]})
    done = run("audit", csv, "--target", name, "--sensitive", name, code=2)
    assert f'"{name}"' in done.stderr


def test_file_names_are_shown_as_they_are(here):
    assert run("audit", "none.csv", *COMMON).stderr.startswith("none.csv ")


# What is printed


def test_json_follows_the_published_schemas(here):
    found = valid(run("audit", "pay.csv", *COMMON, "--json"), "audit")
    assert found["provenance"]["n_rows"] == 150
    options = ["pay.csv", *COMMON, "--folds", 2, "--json"]
    found = valid(run("fit", *options, "-o", "n.rankfair"), "fit")
    assert found["model"] == "n.rankfair"
    assert found["audit"]["format"] == "rankfair-audit"
    found = valid(run("path", *options, "--at", 0, "--at", 0.2), "path")
    assert [row["epsilon"] for row in found["rows"]] == [0.0, 0.2]
    assert found["chosen"] in (0.0, 0.2)
    some = ["--method", "tilt", "--method", "covariance"]
    found = valid(run("compare", *options, *some), "compare")
    assert [line["method"] for line in found["methods"]] == some[1::2]
    assert {line["groups"] for line in found["methods"]} == {"f v m"}


def test_with_json_all_else_is_on_stderr(here):
    options = ["pay.csv", *COMMON, "--json", "--html", "a.html", "--max-gap", "0"]
    done = run("audit", *options, "-o", "a.csv")
    assert done.exit_code == 1
    found = valid(done, "audit")
    assert found["gate"] == {
        "max_gap": 0.0,
        "max_task_gap": None,
        "result": "exceeded",
    }
    for part in ("wrote a.html", "wrote a.csv", "exceeds"):
        assert part in done.stderr


def test_the_gate_is_in_the_json(here):
    options = ["pay.csv", *COMMON, "--json", "-q", "--max-gap"]
    for command in (["audit"], ["fit", "--folds", 2]):
        for gap, result in (("0.5", "held"), ("0", "exceeded")):
            done = run(*command, *options, gap)
            found = valid(done, command[0])
            limits = {"max_gap": float(gap), "max_task_gap": None}
            assert found["gate"] == {**limits, "result": result}
            assert done.stderr == ""


@pytest.mark.parametrize("command", ["audit", "fit", "path", "compare"])
def test_files_are_written_though_nobody_reads(here, monkeypatch, command):
    import typer

    def gone(*_, **__):
        raise BrokenPipeError

    more = {"audit": [], "path": ["--at", 0.1], "compare": ["--method", "tilt"]}
    few = [] if command == "audit" else ["--folds", 2]
    sheet = [] if command == "fit" else ["-o", "a.csv"]
    monkeypatch.setattr(typer, "echo", gone)
    options = [*COMMON, *more.get(command, []), *few, *sheet, "--html", "a.html", "-q"]
    assert run(command, "pay.csv", *options).exit_code == 141
    assert "</html>" in Path("a.html").read_text("utf-8")
    assert command == "fit" or read_table("a.csv").n_rows


def test_quiet_leaves_the_answer_only(here):
    options = ["pay.csv", *COMMON, "--folds", 2, "--quiet"]
    for command in (
        ["fit", *options, "-o", "n.rankfair"],
        ["path", *options, "--at", "0.1"],
        ["compare", *options, "--method", "tilt"],
        ["audit", *options[:-3], "--quiet", "--max-gap", "0.5"],
    ):
        done = run(*command)
        assert done.exit_code == 0
        assert done.stderr == ""
        assert "wrote" not in done.stdout
        assert "MD: mean" not in done.stdout
    assert "The gap is within the limit." in done.stdout
    assert run("export-onnx", "m.rankfair", "a.onnx", "-q").output == ""


def test_tables_go_to_a_pipe(here):
    for command, column in (("audit", "auc"), ("path", "rmse"), ("compare", "ks")):
        few = {"path": ["--at", 0.1, "--folds", 2], "audit": []}
        options = few.get(command, ["--method", "tilt", "--folds", 2])
        done = run(command, "pay.csv", *COMMON, *options, "-o", "-")
        assert done.exit_code == 0
        table = read_table(done.stdout.encode())
        # An audit has a row for each of the three jobs below that of all rows.
        n_rows = 4 if command == "audit" else 1
        assert (table.n_rows, column in table.names) == (n_rows, True)


def test_rows_come_and_go_by_pipes(here):
    raw = Path("pay.csv").read_bytes()
    whole = run("predict", "m.rankfair", "pay.csv").stdout
    piped = run("predict", "m.rankfair", "-", input=raw)
    assert piped.stdout == whole
    assert piped.stderr == ""
    options = ["--target", "pay", "--sensitive", "gender", "--prediction", "prediction"]
    done = run("audit", "-", *options, input=whole)
    assert done.exit_code == 0
    direct = run("audit", "pay.csv", *options[:4], "--model", "m.rankfair")
    assert done.stdout == direct.stdout


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32))
def test_a_forged_model_file_is_a_sentence_or_predicts(made, seed):
    csv, model = made
    random, raw = Random(seed), Path(model).read_bytes()
    body, _ = unpack(raw)
    forged = {**body, "extra": mutated(body["extra"], random)}
    path = Path(model).with_name("forged.rankfair")
    path.write_bytes(tampered(raw, {}, forged))
    for line in (
        ("predict", path, csv),
        ("audit", csv, "--model", path, "--sensitive", "gender"),
        ("describe", path),
        ("describe", path, "--card"),
    ):
        done = run(*line)
        assert done.exit_code in (0, 2), (line, done.output)
        # A file that says other things of its columns is at odds with the rows.
        named = str(path) in done.stderr or str(csv) in done.stderr
        assert done.exit_code == 0 or named


def test_describe_is_for_people_or_programs(here):
    shown = run("describe", "m.rankfair").stdout
    settings = re.findall(r"^  (\w+)  ", shown.partition("Settings")[2], re.M)
    assert settings == sorted(settings)
    assert "epsilon" in settings
    for part in (
        "A note.",
        "3 tasks: clerk, cook, nurse",
        "education=mid",
        "satisfied",
    ):
        assert part in shown
    found = json.loads(run("describe", "m.rankfair", "--json").stdout)
    assert found["notes"] == "A note."


def test_a_model_card_says_what_the_file_knows(here):
    odd = people(n=60)
    odd["gender"] = ["<b>" if it == "f" else "m|" for it in odd["gender"]]
    write_csv(Path("odd.csv"), odd)
    fitted = run("fit", "odd.csv", *COMMON, "-o", "odd.rf", "--json", code=0)
    measures = json.loads(fitted.stdout)["audit"]["comparisons"][-1]
    auc = measures["auc"]
    card = run("describe", "odd.rf", "--card", code=0).stdout
    for title in ("Data", "Groups", "Constraint", "Gap", "Limits of use", "Versions"):
        assert f"\n## {title}\n" in card
    assert f"- Rows fitted: {len(odd['gender'])}" in card
    assert "- Groups: \\<b\\>, m\\|" in card
    assert "<b>" not in card
    shown = f"{auc['value']:.3f} ({auc['ci_low']:.3f} to {auc['ci_high']:.3f})"
    (last,) = re.findall(r"^\| after \|.*", card, re.M)
    assert shown in last
    assert "AUC at which the predictors tell the groups apart" in card
    assert re.search(r"^- scikit-learn \d", card, re.M)
    assert run("describe", "odd.rf", "--card", "--json").exit_code == 2


def test_a_model_card_does_without_a_report(here):
    raw = Path("m.rankfair").read_bytes()
    body, _ = unpack(raw)
    extra = {**body["extra"], "comparisons": [{"model": []}], "target": "# pay"}
    Path("n.rf").write_bytes(tampered(raw, {}, {**body, "extra": extra}))
    card = run("describe", "n.rf", "--card", code=0).stdout
    assert card.startswith("# Model card: \\# pay\n\nA note.\n")
    assert "The file has no report on other rows" in card


def test_a_model_without_tasks_is_described_without(here):
    alone = ["--target", "pay", "--sensitive", "gender", "--folds", 0, "-o", "b.rf"]
    assert run("fit", "pay.csv", *alone, "-q").exit_code == 0
    shown = run("describe", "b.rf").stdout
    assert not re.search(r"\d tasks?:", shown)
    assert "2 groups: f, m" in shown
    write_csv(Path("vets.csv"), people(n=40, jobs=["vet"]))
    run("fit", "vets.csv", *COMMON, "--folds", 0, "-o", "v.rf", "-q")
    assert "1 task: vet" in run("describe", "v.rf").stdout


def test_onnx_is_written(here):
    pytest.importorskip("onnx")
    done = run("export-onnx", "m.rankfair", "a.onnx")
    assert done.stdout == "wrote a.onnx\n"
    assert Path("a.onnx").stat().st_size > 100
