"""`python -m rankfair` is the command `rankfair`."""

from rankfair.cli import main

main()
