import pytest

from paper import __main__ as command
from paper.run import Result
from paper.settings import QUICK, SYNTHETIC, Settings

FIVE = (*SYNTHETIC, "wine")


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """Let the command run nothing; return what it would have run."""
    seen = {}

    def reproduce(out, settings, **how):
        seen.update(out=out, settings=settings, **how)
        missing = dict.fromkeys(settings.data, "no file")
        return Result(settings, [], missing, missing)

    monkeypatch.setattr(command, "reproduce", reproduce)
    monkeypatch.chdir(tmp_path)
    return seen


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ("--quick --repeats 3 --seed 4", Settings(seed=4, **QUICK | {"repeats": 3})),
        ("--data wine synthetic --no-figures", Settings(FIVE, figures=False)),
    ],
)
def test_options_are_settings_and_settings_name_their_command(
    asked, tmp_path, options, settings
):
    assert command.main(options.split()) == 0
    assert asked["settings"] == settings
    # The page that names the command may go elsewhere.
    again = settings.command.split()[3:]
    assert command.main([*again, "--quiet", "--docs", "docs"]) == 0
    assert asked["settings"] == settings and asked["quiet"]
    page = (tmp_path / "docs" / "reproduction.md").read_text(encoding="utf-8")
    assert f"    {settings.command} --docs docs\n" in page


def test_a_method_that_failed_is_named_and_the_exit_code_is_1(
    monkeypatch, asked, capsys
):
    row = {"kind": "table", "data": "wine", "method": "SDBC", "error": "no luck"}
    result = Result(Settings(("wine",)), [row])
    monkeypatch.setattr(command, "reproduce", lambda *_, **__: result)
    assert command.main([]) == 1
    shown = capsys.readouterr().out
    assert "Wine, SDBC (repeat 0) failed: no luck" in shown
    assert "does not hold, 0 of 1 datasets: Rank has" in shown
