"""How sure a number about two groups is: intervals, tests, and what is unknown."""
