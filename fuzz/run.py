"""Feed the doors for files with odd bytes: no crash, no traceback, no wrong value.

Each target runs in a process of its own, for its share of the time.  With atheris the
bytes are led by the code they reach; without it hypothesis makes them.

    python fuzz/run.py --seconds 60
"""

import argparse
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

TARGETS = ("fuzz_tables", "fuzz_models")
HERE = Path(__file__).parent


def run(target: str, seconds: int) -> int:
    """Run one target; return its exit code."""
    script = str(HERE / f"{target}.py")
    with tempfile.TemporaryDirectory() as corpus:
        command = [sys.executable, script, corpus]
        if find_spec("atheris") is not None:
            command += [
                f"-max_total_time={seconds}",
                "-timeout=25",
                "-rss_limit_mb=4096",
                "-print_final_stats=1",
                "-verbosity=0",
                f"-artifact_prefix={HERE}/found-",
            ]
        else:
            command += [f"-max_total_time={seconds}"]
        return subprocess.run(command, check=False).returncode


def main() -> int:
    """Run all targets; return 1 if one of them found something."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60)
    seconds = parser.parse_args().seconds
    failed = [t for t in TARGETS if run(t, max(1, seconds // len(TARGETS)))]
    for target in TARGETS:
        print(f"{target}: {'FOUND SOMETHING' if target in failed else 'nothing found'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
