"""The report: records in, one page or picture out."""

from rankfair.report.methods import MethodLine, MethodTable, render_comparison
from rankfair.report.page import render, render_fragment
from rankfair.report.pictures import draw_audit, draw_path

__all__ = [
    "MethodLine",
    "MethodTable",
    "draw_audit",
    "draw_path",
    "render",
    "render_comparison",
    "render_fragment",
]
