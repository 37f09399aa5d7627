"""The subset of a numbered window whose sum is nearest to a goal."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rankfair.projections.common import Ints, Mask

# The half sums of a search grow with the square root of the window.
LARGEST_WINDOW = 10**12


def best_index(changes: Ints, excess: int, window: int) -> int:
    """The subset number whose changes sum closest to ``excess``, the least of equals.

    Looked for among the numbers that differ by at most ``window`` from
    ``2^n excess / sum(changes)``; digits as in `digits`.
    """
    if len(changes) == 0:
        return 0
    last = (1 << len(changes)) - 1
    window = min(window, LARGEST_WINDOW)
    start, rest = divmod(excess << len(changes), int(changes.sum()))
    low = min(max(start - window, 0), last)
    high = min(start + (rest > 0) + window, last)
    found = (
        best_in_block(changes, excess, *block) for block in dyadic_blocks(low, high)
    )
    return min(found)[1]


def dyadic_blocks(low: int, high: int) -> Iterator[tuple[int, int]]:
    """Cut low..high into blocks ``first .. first + 2^free − 1`` of common digits."""
    while low <= high:
        free = (high - low + 1).bit_length() - 1
        if low > 0:
            free = min(free, (low & -low).bit_length() - 1)
        yield low, free
        low += 1 << free


def best_in_block(changes: Ints, excess: int, first: int, free: int) -> tuple[int, int]:
    """The least distance to ``excess`` in a block and the least number that has it.

    Meet in the middle: the sums of the first half of the free digits are matched with
    the sorted sums of the second half.
    """
    fixed = len(changes) - free
    target = excess - int(changes[digits(first, len(changes))].sum())
    half = fixed + free // 2
    leading, trailing = subset_sums(changes[fixed:half]), subset_sums(changes[half:])
    ordered = np.sort(trailing)
    wanted = target - leading
    place = np.searchsorted(ordered, wanted)
    over = np.abs(ordered[np.minimum(place, len(ordered) - 1)] - wanted)
    under = np.abs(ordered[np.maximum(place - 1, 0)] - wanted)
    gaps = np.minimum(over, under)
    front = int(gaps.argmin())
    back = int(np.abs(trailing - wanted[front]).argmin())
    return int(gaps[front]), first + front * len(trailing) + back


def subset_sums(changes: Ints) -> Ints:
    """The sums of all subsets, in the order of their numbers."""
    sums = np.zeros(1, dtype=np.int64)
    for change in changes:
        sums = (sums[:, None] + np.array([0, change])).ravel()
    return sums


def digits(index: int, n: int) -> Mask:
    """The last ``n`` binary digits of a number, the leading one first."""
    size = -(-n // 8)
    packed = np.frombuffer(index.to_bytes(size, "big"), dtype=np.uint8)
    return np.unpackbits(packed)[8 * size - n :].astype(np.bool_)
