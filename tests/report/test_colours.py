"""The colours of groups: seen on the paper, and told apart by the colour-blind."""

import itertools
import re
from importlib.resources import files

import numpy as np

# Machado, Oliveira and Fernandes (2009), the severest form of each, row by row.
SEEN = {
    "normal": np.eye(3),
    "deuteranopia": [0.367, 0.861, -0.228, 0.28, 0.673, 0.047, -0.012, 0.043, 0.969],
    "protanopia": [0.152, 1.053, -0.205, 0.115, 0.786, 0.099, -0.004, -0.048, 1.052],
}
XYZ = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]


def linear(colour):
    values = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    dark, bright = values / 12.92, ((values + 0.055) / 1.055) ** 2.4
    return np.where(values <= 0.04045, dark, bright)


def lab(light):
    x, y, z = XYZ @ np.clip(light, 0, 1) / (0.9505, 1, 1.089)
    x, y, z = (np.cbrt(v) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def themes():
    style = files("rankfair.report").joinpath("page.css").read_text()
    for block in re.findall(r"\{([^{}]*--paper:[^{}]*)\}", style):
        found = dict(re.findall(r"--(paper|c\d): (#\w+)", block))
        if found["paper"] == "#fff":
            found["paper"] = "#ffffff"
        yield found


def test_groups_have_colours_that_everybody_can_tell_apart():
    assert len([*themes()]) == 4  # light, dark twice, print
    for theme in themes():
        paper = XYZ[1] @ linear(theme.pop("paper")) + 0.05
        for colour in theme.values():
            light = XYZ[1] @ linear(colour) + 0.05
            assert max(light, paper) / min(light, paper) >= 3
        for matrix in SEEN.values():
            matrix = np.reshape(matrix, (3, 3))
            seen = [lab(matrix @ linear(colour)) for colour in theme.values()]
            for one, other in itertools.combinations(seen, 2):
                assert np.linalg.norm(one - other) > 15
