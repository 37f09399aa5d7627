"""The report: records in, one page or picture out."""
