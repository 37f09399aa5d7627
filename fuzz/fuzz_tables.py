"""Any bytes as a CSV file: a `TableError`, or what the csv module reads."""

from engine import go, instrumented

with instrumented():
    from file_checks import check_table

SEEDS = [
    b"a,b\n1,2\n",
    b'id;x\n01001;1,5\n"NA";2\n',
    b'\xef\xbb\xbfa,b\r\n"x,""y""",1e5\r\n,\r\n',
    "a|b\r1|é\r".encode(),
    "a\tb\n1 234\t12345678901234567890\n".encode("utf-16"),
    b'x,y\n1,"two\nlines"\n\n1e999,-0\n',
    b"sep=;\r\na;b\r\n1;2\r\n",
    b"a,b\n" + b"0.1,=cmd\n" * 20,
]


def check(raw: bytes) -> None:
    """Read the bytes in four ways; the first byte chooses the settings."""
    if raw.startswith(b"PAR1"):
        return  # polars' own parser, in a language that the fuzzer cannot see
    choice = raw[0] % 4 if raw else 0
    ways: list[dict[str, object]] = [
        {},
        {"delimiter": ","},
        {"delimiter": ";", "encoding": "latin-1"},
        {"delimiter": "\t", "encoding": "utf-8"},
    ]
    check_table(raw)
    if choice:
        check_table(raw[1:], **ways[choice])


if __name__ == "__main__":
    go(check, SEEDS)
