"""The report: records in, one page out."""

from rankfair.report.page import render, render_fragment

__all__ = ["render", "render_fragment"]
