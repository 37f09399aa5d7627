"""Numbers and names as the page shows them: as text, and as places on a scale."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rankfair.input.errors import printable

if TYPE_CHECKING:
    from rankfair.stats.estimate import Estimate

DASH = "–"
STRIP = (280, 26, 12)  # of a strip: its width, height, and the margin at either side

View = dict[str, Any]  # what a template reads
Form = Callable[[Sequence[float]], list[str]]  # numbers of one kind → texts
_IN_HTML = {ord(c): f"\\u{ord(c):04x}" for c in "<>&'\u2028\u2029"}


def shown(text: str) -> str:
    """Return a text in which control characters are spelt out; white space stays.

    Examples
    --------
    >>> shown("a\\u202eb"), shown("שלום")
    ('a[U+202E]b', 'שלום')
    """
    return printable(text, keep="\t\n\r")


def tied(sentence: str) -> str:
    r"""Return a sentence whose signs no line end parts from their numbers.

    Examples
    --------
    >>> tied("At ε = 0.1 it is 5 % more.")
    'At ε\xa0=\xa00.1 it is 5\xa0% more.'
    """
    return sentence.replace(" %", "\u00a0%").replace("ε = ", "ε\u00a0=\u00a0")


def as_json(value: Any) -> str:
    """Return compact JSON that can stand between two tags of a page.

    NaN and infinities are no JSON and raise an error.

    Examples
    --------
    >>> as_json(["</script>", 1])
    '["\\\\u003c/script\\\\u003e",1]'
    """
    dense = json.dumps(
        value, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    )
    # These stand only inside strings, where the escape means the same character.
    return dense.translate(_IN_HTML)


def decimal(value: float, places: int = 3) -> str:
    """Return a number with a fixed number of decimals, a dash if there is none.

    Examples
    --------
    >>> decimal(0.64217), decimal(-0.5), decimal(-1e-9), decimal(float("nan"))
    ('0.642', '−0.500', '0.000', '–')
    """
    if not math.isfinite(value):
        return _not_finite(value)
    text = f"{value:,.{places}f}"
    unsigned = text.removeprefix("-")
    # A number that rounds to zero has no sign.
    if unsigned == text or not unsigned.strip("0.,"):
        return unsigned
    return f"−{unsigned}"


def _amount(value: float) -> str:
    """A number of any size with four figures."""
    if not math.isfinite(value):
        return _not_finite(value)
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    form = f",.{max(0, 3 - size)}f" if -5 < size < 7 else ".3e"
    return f"{value:{form}}".replace("-", "−", 1 if value < 0 else 0)


def round_number(value: float) -> str:
    """Return a number that is round, a tick or a setting, as short as can be.

    Examples
    --------
    >>> round_number(-0.5), round_number(20000.0), round_number(1e9)
    ('−0.5', '20,000', '1.000e+09')
    """
    text = f"{value:,.10g}" if abs(value) < 1e7 else _amount(value)
    return text.replace("-", "−", 1) if value < 0 else text


def _not_finite(value: float) -> str:
    if math.isnan(value):
        return DASH
    return "∞" if value > 0 else "−∞"


def decimals(values: Sequence[float]) -> list[str]:
    """Return numbers with three decimals each.

    Examples
    --------
    >>> decimals([0.64217, 1.0])
    ['0.642', '1.000']
    """
    return [decimal(value) for value in values]


def alike(values: Sequence[float]) -> list[str]:
    """Return numbers of one kind with the same decimals, four figures for the largest.

    Examples
    --------
    >>> alike([0.004363, -0.07299, 0.08172]), alike([-6e-17, 1234.5])
    (['0.00436', '−0.07299', '0.08172'], ['0', '1,234'])
    """
    largest = max((abs(v) for v in values if math.isfinite(v)), default=0.0)
    size = math.floor(math.log10(largest)) if largest else 0
    if not -6 < size < 7:
        return [_amount(value) for value in values]
    return [decimal(value, max(0, 3 - size)) for value in values]


def percent(values: Sequence[float], places: int = 1) -> list[str]:
    r"""Return shares in percent.

    Examples
    --------
    >>> percent([-0.1224, 0.0001, float("nan")])
    ['−12.2\xa0%', '0.0\xa0%', '–']
    """
    found = (decimal(100.0 * value, places) for value in values)
    return [each if each == DASH else f"{each}\u00a0%" for each in found]


def count(value: float) -> str:
    """Return a whole number with its thousands apart.

    Examples
    --------
    >>> count(1234567)
    '1,234,567'
    """
    return f"{value:,.0f}"


def whole(value: float) -> int | None:
    """Return a whole number for the data of a script; None if there is none.

    Examples
    --------
    >>> whole(6421.7), whole(math.nan)
    (6422, None)
    """
    return round(value) if math.isfinite(value) else None


def number_of(value: int, unit: str = "row") -> str:
    """Return how many there are of something, one or several.

    Examples
    --------
    >>> number_of(1), number_of(1200, "task")
    ('1 row', '1,200 tasks')
    """
    return f"{count(value)} {unit if value == 1 else unit + 's'}"


def chance(value: float | None) -> str:
    """Return a p-value; empty if there is none.

    Examples
    --------
    >>> chance(0.0417), chance(1e-9), chance(None)
    ('p = 0.042', 'p < 0.001', '')
    """
    if value is None or math.isnan(value):
        return ""
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


@dataclass(frozen=True)
class Scale:
    """A map from values ``low … high`` to places ``start … end``, linear or of logs.

    Examples
    --------
    >>> Scale(0.0, 1.0, 100, 0)(0.25), Scale(1.0, 100.0, 0, 50, log=True)(10.0)
    (75.0, 25.0)
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return the place of a value, rounded to two decimals."""
        # Halves of the widest range do not overflow.
        form = math.log if self.log else (0.5).__mul__
        low, at, high = map(form, (self.low, value, self.high))
        share = (at - low) / (high - low)
        return round(self.start + share * (self.end - self.start), 2)

    def clipped(self, value: float) -> float:
        """Return the place of a value, or of the nearest end."""
        return self(min(max(value, self.low), self.high))

    def ticks(self, about: int = 5) -> list[tuple[float, str]]:
        """Return places and texts of round numbers, near to ``about`` of them."""
        found = ticks(self.low, self.high, about)
        if self.log:
            first, last = (math.floor(math.log10(v)) for v in (self.low, self.high))
            each = (m * 10.0**i for i in range(first, last + 1) for m in (1, 2, 5))
            found = [v for v in each if self.low <= v <= self.high]
            found = found[:: math.ceil(len(found) / (about + 1))]
        return [(self(v), round_number(v)) for v in found]


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Return round numbers between two values, near to ``about`` of them.

    Examples
    --------
    >>> ticks(0.13, 1.02)
    [0.2, 0.4, 0.6, 0.8, 1.0]
    >>> ticks(5.0, 5.0)
    [5.0]
    """
    if not high > low:
        return [low]
    rough = (high - low) / about
    if math.isinf(rough):
        rough = high / about - low / about
    unit = 10.0 ** math.floor(math.log10(rough))
    step = unit * next(m for m in (1, 2, 2.5, 5, 10) if m * unit >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    # Twelve figures remove the rounding of the product.
    found = (float(f"{i * step:.12g}") + 0.0 for i in range(first, last + 1))
    return [value for value in found if math.isfinite(value)]


def covering(values: Iterable[float], room: float = 0.06) -> tuple[float, float]:
    """Return a range that holds all finite values, with a margin.

    Examples
    --------
    >>> covering([1.0, 2.0, float("nan")], room=0.1)
    (0.9, 2.1)
    >>> covering([3.0])
    (2.5, 3.5)
    """
    finite = [value for value in values if math.isfinite(value)] or [0.0]
    low, high = min(finite), max(finite)
    width = high - low
    # One value, or values that differ by rounding, still need a range.
    margin = room * width if width > 1e-9 * max(abs(low), abs(high)) else 0.5
    if not math.isfinite(high + margin - (low - margin)):
        return low, high
    return low - margin, high + margin


def numbers_of(estimates: Iterable[Estimate]) -> list[float]:
    """Return the values of estimates and the ends of their intervals."""
    return [v for e in estimates for v in (e.value, e.ci_low, e.ci_high)]


def around_half(values: Iterable[float]) -> tuple[float, float]:
    """Return a range around 1/2 that holds all AUCs.

    Examples
    --------
    >>> around_half([0.46, 0.58])
    (0.4, 0.6)
    """
    finite = [abs(value - 0.5) for value in values if math.isfinite(value)]
    most = max(finite, default=0.0)
    width = next((w for w in (0.05, 0.1, 0.2, 0.3) if most <= w), 0.5)
    return round(0.5 - width, 3), round(0.5 + width, 3)


def cell(
    estimate: Estimate,
    form: Form = decimals,
    confidence: float | None = None,
    most: float = math.inf,
) -> View:
    """Return an estimate as text: number, interval, p-value, and why one is missing.

    With a confidence, the note of one that is not significant says what gap would have
    been found, which is at most ``most``.

    Examples
    --------
    >>> from rankfair.stats.estimate import Estimate
    >>> cell(Estimate(0.25, 0.2, 0.3, 0.04))
    {'text': '0.250', 'interval': '0.200 to 0.300', 'p': 'p = 0.040', 'note': ''}
    """
    value, low, high = form((estimate.value, estimate.ci_low, estimate.ci_high))
    note, tested = estimate.note, estimate.p_value is not None
    if math.isnan(estimate.value):
        note = note or "not estimable"
    elif tested and confidence is not None and not estimate.significant(confidence):
        (found,) = form([min(estimate.detectable(confidence), most)])
        note = note or f"not significant; a gap of {found} would have been found"
    return {
        "text": value,
        "interval": "" if DASH in (low, high) else f"{low} to {high}",
        "p": chance(estimate.p_value),
        "note": note,
    }


def strip(estimate: Estimate, x: Scale, name: str, form: Form = decimals) -> View:
    """Return an estimate and its interval as places on a strip (None: unknown).

    ``title`` is the text for readers who do not see the picture.
    """
    said = cell(estimate, form)
    interval = f" ({said['interval']})" if said["interval"] else ""
    ends = {"x": estimate.value, "low": estimate.ci_low, "high": estimate.ci_high}
    return {
        **{k: x.clipped(v) if math.isfinite(v) else None for k, v in ends.items()},
        "title": f"{name}: {said['text']}{interval}",
    }


def axis(
    low: float, high: float, form: Callable[[float], str] = round_number
) -> tuple[Scale, list[tuple[float, str]]]:
    """Return the scale of a strip, and its ticks: places and texts."""
    width, _, room = STRIP
    x = Scale(low, high, room, width - room)
    return x, [(x(value), form(value)) for value in ticks(low, high, 4)]


def section(template: str, name: str, number: int = 0, **values: Any) -> View:
    """Return a section of a page: its anchor, name and template, and what that reads.

    Those of one template have numbers, from 1.
    """
    anchor = f"{template}-{number}" if number else template
    return {"id": anchor, "name": name, "template": f"{template}.html.j2", **values}
