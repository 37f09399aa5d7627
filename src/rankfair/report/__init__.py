"""The report: records in, one page out."""

from rankfair.report.methods import render_comparison
from rankfair.report.page import render, render_fragment
from rankfair.report.records import MethodLine, MethodTable

__all__ = [
    "MethodLine",
    "MethodTable",
    "render",
    "render_comparison",
    "render_fragment",
]
