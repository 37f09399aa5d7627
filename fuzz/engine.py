"""One way to fuzz with atheris or, where it is not installed, with hypothesis."""

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

try:
    import atheris
except ImportError:
    atheris = None

__all__ = ["go", "instrumented"]

MOST = 4096  # bytes of an input


def instrumented() -> Any:
    """Return a context in which imports are watched by the fuzzer."""
    if atheris is None:
        return nullcontext()
    return atheris.instrument_imports(include=["rankfair.files"])


def go(check: Callable[[bytes], None], seeds: Sequence[bytes]) -> None:
    """Feed ``check`` until the time is up; it raises where something is wrong."""
    if atheris is None:
        _by_hypothesis(check, seeds)
        return
    corpus = Path(sys.argv[1])
    for number, seed in enumerate(seeds):
        (corpus / f"seed{number}").write_bytes(seed)
    atheris.Setup([*sys.argv, f"-max_len={MOST}"], check)
    atheris.Fuzz()


def _by_hypothesis(check: Callable[[bytes], None], seeds: Sequence[bytes]) -> None:
    from hypothesis import given, settings
    from hypothesis import strategies as st

    asked = [word for word in sys.argv if word.startswith("-max_total_time=")]
    until = time.monotonic() + float(asked[0].partition("=")[2] if asked else 30)
    tried = 0

    @st.composite
    def changed(draw: Any) -> bytes:
        raw: bytes = draw(st.sampled_from(list(seeds)))
        for _ in range(draw(st.integers(0, 4))):
            at = draw(st.integers(0, len(raw)))
            upto = draw(st.integers(at, min(len(raw), at + 16)))
            put = draw(st.one_of(st.binary(max_size=8), st.just(raw[at:upto] * 2)))
            raw = raw[:at] + put + raw[upto:]
        return raw

    @settings(max_examples=500, deadline=None, database=None)
    @given(st.one_of(changed(), st.binary(max_size=MOST)))
    def once(raw: bytes) -> None:
        nonlocal tried
        tried += 1
        check(raw)

    while time.monotonic() < until:
        once()
    print(f"hypothesis: {tried} inputs")
