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
from sheets import people, write_csv
from tools import schema as schemas


def test_schemas_are_made_from_the_records():
    for path, found in schemas.files().items():
        assert json.loads(path.read_text("utf-8")) == found, "make schema"


# Bad usage and bad data: code 2 and one sentence that names what to mend

BAD = [
    ("audit pay.csv", "--sensitive"),
    ("audit pay.csv --sensitive gender", "--prediction, --model or --target"),
    ("audit pay.csv {common} --text pay", "cannot be text and numbers"),
    ("audit none.csv {common}", "none.csv cannot be read"),
    ("audit sex.csv --target beta=2 --sensitive beta=2", '"beta=2"'),
    ("describe m.rankfair --card --json", "Markdown or JSON, not both"),
    ("audit {common}", "FILE"),
    ("audit pay.csv {common} --prediction pay", "one role"),
    ("audit pay.csv {common} --html sex.csv/a.html", "there is no folder sex.csv"),
    ("audit pay.csv {common} --out - --json", "not both"),
    ("audit pay.csv {common} --html no/x.html", "there is no folder no."),
    ("predict m.rankfair pay.csv -o t.xls", "would not be a .xls file"),
    ("fit one.csv {common}", "nothing to compare"),
    ("fit pay.csv {common} --constraint ranks", "--constraint': 'ranks' is not one of"),
    ("fit pay.csv {common} --beta foo", "a number or auto"),
    (
        "fit pay.csv {common} --constraint rank --constraint mean"
        " --epsilon 0.1 --epsilon 0.2 --epsilon 0.3",
        "--epsilon must be one number for all constraints, or a list",
    ),
    (
        "compare pay.csv {common} --epsilon 0.1 --epsilon 0.2",
        "2 times, but it takes one",
    ),
    ("fit pay.csv {common} --drop agee", 'Did you mean "age"'),
    ("fit pay.csv {common} -o model.csv", "named like a table"),
    ("fit pay.csv {common} --max-categories 2", "--max-categories 3"),
    ("predict m.rankfair vet.csv", "--penalty pool --unseen shared"),
    ("predict m.rankfair x.csv", 'x.csv, column "gender": has labels not seen'),
    ("predict m.rankfair gap.csv", 'gap.csv, line 2, column "job": 1 cell is empty'),
    ("predict pay.csv m.rankfair", "MODEL comes first: rankfair predict m.rankfair"),
    ("path pay.csv {common} --at 0.1 --at 0.7", "--at must be a number in [0, 0.5]"),
    (
        "path no.csv {common} --constraint distribution --at 1.1",
        "--at must be a number in [0, 1]; got 1.1",
    ),
    ("compare pay.csv {common} --method foo", '"NC-ADMM"'),
    ("audit pay.csv {common} --intersect", "needs two or more features"),
    ("path pay.csv {common} --sensitive education", "with --intersect"),
    ("fit pay.csv {common} -o a.model --html ./a.model", "named twice"),
    ("predict m.rankfair pay.csv -o a.csv --name ''", "another name with --name"),
    ("audit pay.csv {common} --file-column ' '", "Give --file-column another name"),
    ("export-onnx m.rankfair m.rankfair", "would be written over"),
]


@pytest.fixture
def here(made, tmp_path, monkeypatch):
    """A folder with files, good and bad."""
    csv, model = made
    monkeypatch.chdir(tmp_path)
    Path("pay.csv").write_bytes(Path(csv).read_bytes())
    Path("m.rankfair").write_bytes(Path(model).read_bytes())
    Path("sex.csv").write_text("beta=2,sex\n1,f\n2,m\n")
    write_csv(Path("one.csv"), people(n=20, groups="ff"))
    write_csv(Path("vet.csv"), people(n=5, jobs=["vet"]))
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


# What is printed

MORE = {
    "audit": [],
    "fit": ["--folds", 2],
    "path": ["--folds", 2, "--at", 0, "--at", 0.2],
    "compare": ["--folds", 2, "--method", "tilt", "--method", "covariance"],
}


@pytest.mark.parametrize("command", MORE)
def test_json_follows_the_published_schemas_and_all_else_is_on_stderr(here, command):
    files = ["--html", "a.html", "-o", "a.rf" if command == "fit" else "a.csv"]
    done = run(command, "pay.csv", *COMMON, *MORE[command], *files, "--json", code=0)
    found = valid(done, command)
    for name in files[1::2]:
        assert f"wrote {name}" in done.stderr
    assert "</html>" in Path("a.html").read_text("utf-8")
    if command == "fit":
        assert found["model"] == "a.rf"
    elif command == "path":
        assert [row["epsilon"] for row in found["rows"]] == [0.0, 0.2]
    elif command == "compare":
        assert [line["method"] for line in found["methods"]] == ["tilt", "covariance"]


@pytest.mark.parametrize("command", ["audit", "fit"])
def test_the_gate_is_judged_and_in_the_json(here, command):
    options = ["pay.csv", *COMMON, *MORE[command], "--max-gap"]
    for gap, result in (("0.5", "held"), ("0", "exceeded")):
        code = int(result == "exceeded")
        done = run(command, *options, gap, "--json", "-q", code=code)
        limits = {"max_gap": float(gap), "max_task_gap": None}
        assert valid(done, command)["gate"] == {**limits, "result": result}
        assert done.stderr == ""
        assert ("exceeds" in run(command, *options, gap).stdout) == code
    lone = people(n=30, groups="ff")
    lone["gender"][0] = "m"
    few = write_csv(here / "few.csv", lone)
    done = run(command, few, *COMMON, "--max-gap", "0.1", code=3)
    assert command == "audit" or "--folds 0" in done.stderr


@pytest.mark.parametrize("command", MORE)
def test_quiet_leaves_the_answer_and_tables_go_to_a_pipe(here, command):
    line = [command, "pay.csv", *COMMON, *MORE[command]]
    done = run(*line, "--quiet", code=0)
    assert done.stderr == ""
    assert "wrote" not in done.stdout and "MD: mean" not in done.stdout
    if command != "fit":
        table = read_table(run(*line, "-o", "-", code=0).stdout.encode())
        # An audit has a row for each of the three jobs below that of all rows.
        assert table.n_rows == (4 if command == "audit" else 2)
        assert {"auc", "rmse"} & {*table.names}


def test_rows_come_and_go_by_pipes(here):
    whole = run("predict", "m.rankfair", "pay.csv").stdout
    piped = run("predict", "m.rankfair", "-", input=Path("pay.csv").read_bytes())
    assert (piped.stdout, piped.stderr) == (whole, "")
    done = run("audit", "-", *COMMON, "--prediction", "prediction", input=whole, code=0)
    direct = run("audit", "pay.csv", *COMMON[:4], "--model", "m.rankfair")
    assert done.stdout == direct.stdout  # a model knows its task


@settings(max_examples=4)
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
    shown = run("describe", "m.rankfair", code=0).stdout
    settings = re.findall(r"^  (\w+)  ", shown.partition("Settings")[2], re.M)
    own = settings[: settings.index("verbose") + 1]
    assert own == sorted(own) and "epsilon" in own
    for part in (
        r"^RankFairRegressor of pay\nA note\.\n",
        r"^  3 tasks +clerk, cook, nurse$",
        r"^  predictor .*education=mid",
        r"^  groups +f, m$",
        r"^  status +satisfied$",
        r"^  constraints +rank$",
    ):
        assert re.search(part, shown, re.M), part
    found = json.loads(run("describe", "m.rankfair", "--json").stdout)
    assert found["notes"] == "A note."


def test_a_model_card_says_what_the_file_knows(here):
    odd = people(n=60)
    odd["gender"] = ["<b>" if it == "f" else "m|" for it in odd["gender"]]
    write_csv(Path("odd.csv"), odd)
    fitted = run("fit", "odd.csv", *COMMON, "-o", "odd.rf", "--json", code=0)
    auc = json.loads(fitted.stdout)["audit"]["comparisons"][-1]["auc"]
    card = run("describe", "odd.rf", "--card", code=0).stdout
    for title in ("Gap", "Limits of use", "Data", "Groups", "Settings", "Versions"):
        assert f"\n## {title}\n" in card
    assert "- training rows: 60\n" in card and "- groups: \\<b\\>, m\\|\n" in card
    assert "<b>" not in card
    shown = f"{auc['value']:.3f} \\({auc['ci_low']:.3f}–{auc['ci_high']:.3f}\\)"
    (last,) = re.findall(r"^\| after \|.*", card, re.M)
    assert shown in last
    assert len(re.findall(r"^\| after, held-out rows \|.*", card, re.M)) == 1
    assert "AUC at which the predictors tell the groups apart" in card
    assert re.search(r"^- scikit-learn: \d", card, re.M)
