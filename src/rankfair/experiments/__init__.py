"""Comparisons of methods: rows in, records out, then a table and a picture."""
