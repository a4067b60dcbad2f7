"""Labels at lines in place of a legend: each stands next to its line, and on no line, band or other label."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

LABEL, LEADER = "label of ", "leader of "
"""What the ids of a label, and of the line that leads to it, start with; the id of the labelled line follows."""

CELL = 1.5
"""Points between two tried positions, and of the raster in which covered places are marked."""

PADDING = 2.0
"""Least points between a label and any line."""

NEXT, CLEAR = 12.0, 2.0
"""Most points between a line and its label, and least by which another labelled line is farther away; or a leader is
drawn."""

SHORTEST = 8.0
"""Least length of a leader in points."""

SIZES = (8.0, 7.0, 6.0)
"""Sizes of letters in points, of which the first is taken in which all labels of a panel find a position."""

LETTERS = (None, 44, 30, 22, 16)
"""Letters in a line of a label, as tried."""

SIDEWAYS, PER_LINE, LEADING, CROSSING = 0.15, 8.0, 14.0, 40.0
"""Points by which a label is away from its line rather than one point sideways, in one more line, with a leader, or
with a leader that crosses another line."""

TRIED, ENDS = 50, 8
"""Positions, of the nearest and of all others, and points of the line between which leaders are compared."""

GAPS, FARTHEST = (*range(9), 10, 12, 15, 19, 24, 30, 38, 48, 60, 80, 100), 120
"""Squares between a line and its label, as they are told apart."""


@dataclass(frozen=True)
class Position:
    """A position of a label: cost in points, lower left corner in pixels, leader from its line, text in lines."""

    cost: float
    corner: np.ndarray
    leader: np.ndarray
    text: str


def label_line(panel: Axes, line: Line2D, text: str, *, near: float) -> None:
    """Add the label of a line; ``place_labels`` finds where it stands.

    Parameters
    ----------
    panel, line
        The line, with an id.
    text
        The label.
    near
        Where it should stand rather than elsewhere, from 0, left, to 1, right.
    """
    colour, name = line.get_color(), str(line.get_gid())
    inside: dict[str, Any] = {"transform": panel.transAxes, "color": colour, "in_layout": False}
    shown = panel.text(near, 0.5, text, va="bottom", ha="left", gid=f"{LABEL}{name}", **inside)
    shown.set_label(str(near))  # survives copies, and the position that is found
    # in a copied figure a line cannot be removed: every label has one, which may be empty
    panel.plot([], [], linewidth=0.8, scalex=False, scaley=False, gid=f"{LEADER}{name}", **inside)


def place_labels(figure: Figure, wrap: Callable[[str, int], str]) -> bool:
    """Place the labels of a figure that is laid out; return whether each found a free position.

    Parameters
    ----------
    figure
        With labels of ``label_line``, or without.
    wrap
        Breaks a text into lines of at most so many letters.
    """
    placed = [any(_place_in(panel, wrap, size) for size in SIZES) for panel in figure.axes]
    return all(placed)


def _place_in(panel: Axes, wrap: Callable[[str, int], str], size: float) -> bool:
    """Place the labels of a panel one after the other, with letters of this size."""
    labels = {str(text.get_gid()).removeprefix(LABEL): text for text in panel.texts if is_label(text)}
    if not labels:
        return True
    leaders = {str(line.get_gid()).removeprefix(LEADER): line for line in panel.lines if _is(line, LEADER)}
    raster = _Raster(panel)
    targets: dict[str, list[np.ndarray]] = {name: [np.empty((0, 2))] for name in labels}
    for line in panel.lines:
        if _is(line, LEADER):
            continue
        points = raster.points_of(line)
        raster.cover(points, _width(line) / 2 + PADDING)
        _add(targets, line, points)
    for band in panel.collections:
        _add(targets, band, raster.fill(band))
    # a third of the points tells where a line is
    for text in panel.texts:
        if text.get_text() and not is_label(text):
            raster.cover_box(text)
    lines = {name: np.concatenate(parts)[::3] for name, parts in targets.items()}
    fits = True
    for name, text in labels.items():
        text.set_fontsize(size)
        others = np.concatenate(
            [np.empty((0, 2)), *(points for other, points in lines.items() if other != name)]
        )
        found = _best(text, raster, lines[name], others, wrap)
        leaders[name].set_data([], [])
        if found is None:
            fits = False
            continue
        text.set_text(found.text)
        text.set_position(tuple(panel.transAxes.inverted().transform(found.corner)))
        raster.cover_box(text)
        if len(found.leader):
            leaders[name].set_data(*panel.transAxes.inverted().transform(found.leader).T)
            raster.cover(_dense(found.leader, raster.cell), PADDING)
    return fits


def is_label(text: Text) -> bool:
    """Return whether a text is the label of a line."""
    return _is(text, LABEL)


def _is(artist: Artist, start: str) -> bool:
    return str(artist.get_gid()).startswith(start)


def _add(targets: dict[str, list[np.ndarray]], artist: Artist, points: np.ndarray) -> None:
    """Add points to the labelled line to which a line, its band or its last point belongs."""
    name = str(artist.get_gid()).removeprefix("band ").removeprefix("last ")
    if name in targets:
        targets[name].append(points)


def _width(line: Line2D) -> float:
    """Return the width of a line, or of its markers, in points."""
    return float(line.get_linewidth() if line.get_marker() in ("None", None, "") else line.get_markersize())


def _best(
    text: Text, raster: _Raster, own: np.ndarray, others: np.ndarray, wrap: Callable[[str, int], str]
) -> Position | None:
    """Return the position of least cost, over all ways to break the label into lines; None if none is free."""
    best: Position | None = None
    words, tried = text.get_text().replace("\n", " "), set()
    near = float(str(text.get_label()))
    for letters in LETTERS:
        shown = words if letters is None else wrap(words, letters)
        if shown in tried:
            continue
        tried.add(shown)
        text.set_text(shown)
        extra = PER_LINE * shown.count("\n")
        if best is not None and best.cost <= extra:
            break
        box = text.get_window_extent()
        size = np.array([box.width, box.height])
        for place in _positions(raster, size, near, own, others, shown):
            if best is None or place.cost + extra < best.cost:
                best = Position(place.cost + extra, place.corner, place.leader, shown)
    return best


def _positions(
    raster: _Raster, size: np.ndarray, near: float, own: np.ndarray, others: np.ndarray, text: str
) -> Iterator[Position]:
    """Yield free positions of a box near a line: the best one next to it, and those from which a leader is drawn."""
    free, gaps = raster.free(size), raster.gaps(own, size)
    places = np.argwhere(free & (gaps < FARTHEST))[::-1]  # above a line rather than below
    if not len(places):
        return
    corners, gaps = raster.low + places * raster.cell, gaps[tuple(places.T)] * CELL
    # a label on the left is aligned at its left side, one on the right at its right side
    aside = np.abs(corners[:, 0] + near * size[0] - (raster.low[0] + near * raster.extent[0]))
    costs = gaps + SIDEWAYS * aside / raster.point
    distances = raster.gaps(others, size)[tuple(places.T)] * CELL
    clear = np.flatnonzero((gaps <= NEXT) & (distances >= gaps + CLEAR))
    least = np.inf
    if len(clear):
        best = clear[costs[clear].argmin()]
        least = float(costs[best])
        yield Position(least, corners[best], np.empty((0, 2)), text)
    away = np.flatnonzero(gaps >= SHORTEST)
    order = away[np.argsort(costs[away], kind="stable")]
    for index in (*order[:TRIED], *order[TRIED :: 1 + len(order) // TRIED]):
        if costs[index] + LEADING >= least:
            return
        inside = np.clip(own, corners[index], corners[index] + size)
        lengths = np.linalg.norm(own - inside, axis=1) / raster.point
        for end in (int(lengths.argmin()), *range(0, len(own), 1 + len(own) // ENDS)):
            leader = np.array([own[end], inside[end]])
            cost = float(costs[index] - gaps[index] + lengths[end]) + LEADING
            if cost < least and (cost := cost + raster.crossing(leader)) < least:
                least = cost
                yield Position(cost, corners[index], leader, text)


class _Raster:
    """The inside of a panel as small squares, covered or free."""

    def __init__(self, panel: Axes) -> None:
        box = panel.get_window_extent()
        figure: Any = panel.figure
        self.point = figure.dpi / 72
        self.cell = CELL * self.point
        self.low, self.extent = np.array([box.x0, box.y0]), np.array([box.width, box.height])
        self.covered = np.zeros(np.maximum(1, (self.extent // self.cell).astype(int)), dtype=bool)
        self.words = self.covered.copy()

    def cover(self, points: np.ndarray, margin: float) -> None:
        """Mark the surroundings of points, with a margin in points of a letter."""
        reach = int(np.ceil(margin / CELL))
        places = np.floor((points - self.low) / self.cell).astype(int)
        for across in range(-reach, reach + 1):
            for up in range(-reach, reach + 1):
                self._mark(places + np.array((across, up)))

    def cover_box(self, text: Text) -> None:
        """Mark the place of a label."""
        box = text.get_window_extent().padded(PADDING * self.point)
        (left, low), (right, high) = (
            np.floor((np.array(end) - self.low) / self.cell).astype(int) for end in (box.p0, box.p1)
        )
        place = slice(max(left, 0), max(right + 1, 0)), slice(max(low, 0), max(high + 1, 0))
        self.covered[place] = self.words[place] = True

    def points_of(self, line: Line2D) -> np.ndarray:
        """Return points of a line inside the panel, without gaps."""
        with np.errstate(all="ignore"):
            points = line.get_transform().transform(np.asarray(line.get_xydata(), dtype=float))
        return self.inside(_dense(points, self.cell))

    def inside(self, points: np.ndarray) -> np.ndarray:
        """Return the points that are inside the panel."""
        inside = (points >= self.low - 1) & (points <= self.low + self.extent + 1)
        return np.asarray(points[inside.all(axis=1)])

    def fill(self, band: Any) -> np.ndarray:
        """Mark the inside of a filled band; return points of its outline."""
        outlines = [np.empty((0, 2))]
        grid = np.indices(self.covered.shape).reshape(2, -1).T
        centres = self.low + (grid + 0.5) * self.cell
        for path in band.get_paths():
            vertices = band.get_transform().transform_path(path)
            self._mark(grid[vertices.contains_points(centres, radius=self.cell)])
            outlines.append(self.inside(_dense(vertices.vertices, self.cell)))
        return np.concatenate(outlines)

    def _mark(self, places: np.ndarray) -> None:
        inside = ((places >= 0) & (places < self.covered.shape)).all(axis=1)
        self.covered[tuple(places[inside].T)] = True

    def free(self, size: np.ndarray) -> np.ndarray:
        """Return whether a box of this size whose lower left corner is in a square lies inside and covers nothing."""
        (counts,) = self._counts(self.covered, size, (0,))
        return np.asarray(counts == 0)

    def gaps(self, points: np.ndarray, size: np.ndarray) -> np.ndarray:
        """Return how many squares lie between such a box and points; ``FARTHEST`` where they are as far or farther."""
        cells = np.zeros(self.covered.shape, dtype=bool)
        cells[tuple(self._places(points).T)] = True
        counts = self._counts(cells, size, GAPS)
        return np.select([count > 0 for count in counts], GAPS, FARTHEST)

    def _counts(self, cells: np.ndarray, size: np.ndarray, margins: Sequence[int]) -> list[np.ndarray]:
        """Return how many marked squares each box covers, with each of the margins around it."""
        most, box = max(margins), np.ceil(size / self.cell).astype(int) + 1
        sums = np.zeros(np.array(cells.shape) + 1 + 2 * most, dtype=np.int32)
        sums[1:, 1:] = np.pad(cells, most).cumsum(axis=0).cumsum(axis=1)
        across, up = np.maximum(cells.shape - box + 1, 0)
        found = []
        for margin in margins:
            left, low = slice(most - margin, most - margin + across), slice(most - margin, most - margin + up)
            right = slice(left.start + box[0] + 2 * margin, left.stop + box[0] + 2 * margin)
            high = slice(low.start + box[1] + 2 * margin, low.stop + box[1] + 2 * margin)
            found.append(sums[right, high] - sums[left, high] - sums[right, low] + sums[left, low])
        return found

    def crossing(self, leader: np.ndarray) -> float:
        """Return the cost of a leader that meets a line on its way from its own, or words, which it may not."""
        points = _dense(leader, self.cell)
        if self.words[tuple(self._places(points).T)].any():
            return np.inf
        away = np.linalg.norm(points - leader[0], axis=1) > SHORTEST / 2 * self.point
        return CROSSING * bool(self.covered[tuple(self._places(points[away]).T)].any())

    def _places(self, points: np.ndarray) -> np.ndarray:
        """Return the squares of the points that are inside the panel."""
        places = np.floor((points - self.low) / self.cell).astype(int)
        return np.asarray(places[((places >= 0) & (places < self.covered.shape)).all(axis=1)])


def _dense(points: np.ndarray, spacing: float) -> np.ndarray:
    """Return points on the segments between points (n, 2), at most a spacing apart where a segment is not huge."""
    finite = np.isfinite(points).all(axis=1)
    parts = [points[finite]]
    for number in np.flatnonzero(finite[:-1] & finite[1:]):
        start, step = points[number], points[number + 1] - points[number]
        count = min(int(np.ceil(np.linalg.norm(step) / spacing)), 5000)
        parts.append(start + np.arange(1, count)[:, None] / max(count, 1) * step)
    return np.concatenate(parts)
