"""The paper's tables and figures, made again: cells in, records out, then pages."""
