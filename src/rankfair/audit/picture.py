"""An audit as a picture by matplotlib: every AUC with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankfair._looks import BLUE, GREEN, INK, PALE, PURPLE, RUST, need_matplotlib

if TYPE_CHECKING:
    from rankfair.audit.records import Audit

__all__ = ["draw"]

COLOURS = (PALE, BLUE, RUST, GREEN, PURPLE)


def draw(audit: Audit, ax: Any = None) -> Any:
    """Draw a line for each comparison; models lie beside each other."""
    if ax is None:
        need_matplotlib()
        import matplotlib.pyplot as plt

        n_lines = len(audit.comparisons)
        _, ax = plt.subplots(figsize=(7, 1.2 + 0.32 * n_lines), layout="constrained")
    names: list[tuple[str, str, str]] = []
    for c in audit.comparisons:
        if (c.attribute, c.group, c.against) not in names:
            names.append((c.attribute, c.group, c.against))
    n_models = len(audit.models)
    for j, model in enumerate(audit.model_names):
        colour = COLOURS[j % len(COLOURS)]
        offset = 0.5 * ((j + 0.5) / n_models - 0.5)
        mine = [c for c in audit.comparisons if c.model == model]
        at = [names.index((c.attribute, c.group, c.against)) + offset for c in mine]
        for y, c in zip(at, mine, strict=True):
            if c.auc.estimable:
                ax.plot([c.auc.ci_low, c.auc.ci_high], [y, y], color=colour, lw=2)
        values = [c.auc.value for c in mine]
        ax.plot(values, at, "o", color=colour, label=_text(model), ms=5)
    ax.axvline(0.5, color=INK, lw=0.8)
    ax.set_yticks(range(len(names)), [_text(f"{a}: {g} v {o}") for a, g, o in names])
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlabel(
        f"AUC with {100 * audit.confidence:g} % confidence intervals; 0.5 is parity"
    )
    ax.set_title(_text(audit.title))
    if n_models > 1:
        ax.legend(frameon=False)
    return ax


def _text(label: str) -> str:
    """A label as it is: matplotlib would set text between dollars as a formula."""
    return label.replace("$", r"\$")
