"""Two kinds of charts as SVG text: dots per row on a logarithmic axis, and lines on two of them.

Written by hand so that the same figures give the same bytes everywhere, with no plotting library to
install. Colours are those of Okabe and Ito, distinct for the colour-blind, and every series has
its own shape as well.
"""

import math
from dataclasses import dataclass
from html import escape

# Colour and shape of the series, in order.
STYLES = (
    ("#0072b2", "circle"),
    ("#56b4e9", "diamond"),
    ("#d55e00", "square"),
    ("#009e73", "triangle"),
    ("#e69f00", "plus"),
    ("#cc79a7", "cross"),
    ("#000000", "ring"),
)
WIDTH = 860
LEFT, RIGHT, TOP, BOTTOM = 160, 40, 70, 52
LANE = 7  # pixels between the series of one row
INK, GRID, BAND = "#333333", "#d9d9d9", "#f4f4f4"
FONT = "font-family='Helvetica, Arial, sans-serif' font-size='13'"


@dataclass(frozen=True)
class LogAxis:
    """Pixels of positive numbers, over whole ticks of 1, 2, 5 times powers of ten."""

    ticks: list[float]
    begin: float
    end: float

    @classmethod
    def around(cls, values, begin, end):
        low, high = min(values), max(values)
        steps = [
            m * 10.0**e
            for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
            for m in (1, 2, 5)
        ]
        first = max(i for i, tick in enumerate(steps) if tick <= low)
        last = min((i for i, tick in enumerate(steps) if tick >= high), default=len(steps) - 1)
        return cls(steps[first : max(last, first + 1) + 1], begin, end)

    def __call__(self, value):
        share = math.log(value / self.ticks[0]) / math.log(self.ticks[-1] / self.ticks[0])
        return self.begin + share * (self.end - self.begin)

    def labels(self):
        """Ticks with their texts; only powers of ten have one where there are many."""
        is_long = self.ticks[-1] / self.ticks[0] > 2e3
        for tick in self.ticks:
            has_text = not is_long or f"{tick:.0e}"[0] == "1"
            yield tick, f"{tick:,.10g}" if has_text else ""


def dot_plot(rows, series, axis_title, title):
    """Rows of dots.

    ``series`` holds (name, dots) with a dot (seconds, whether they are only a bound) or None for
    every row.
    """
    pitch = LANE * (len(series) + 1)
    bottom = TOP + pitch * len(rows)
    known = [dot[0] for _, dots in series for dot in dots if dot]
    axis = LogAxis.around(known, LEFT, WIDTH - RIGHT)
    parts = [
        _rectangle(0, TOP + i * pitch, WIDTH, pitch, BAND) for i in range(len(rows)) if i % 2 == 0
    ]
    parts += _vertical_grid(axis, axis.labels(), bottom)
    for i, row in enumerate(rows):
        parts.append(_text(LEFT - 12, TOP + (i + 0.5) * pitch + 4, row, "end"))
    for place, (_, dots) in enumerate(series):
        for i, dot in enumerate(dots):
            if dot:
                y = TOP + i * pitch + LANE * (place + 1)
                parts.append(_marker(place, axis(dot[0]), y))
                parts += [_arrow(axis(dot[0]), y, 0)] if dot[1] else []
    names = [name for name, _ in series]
    return _document(bottom, title, axis_title, names, parts)


def line_plot(lines, axis_title, title):
    """Seconds against a size; ``lines`` holds (name, [(size, seconds, whether a bound), ...])."""
    lines = [(name, points) for name, points in lines if points]
    bottom = TOP + 360
    sizes = sorted({size for _, points in lines for size, _, _ in points})
    x_axis = LogAxis([sizes[0], max(sizes[-1], 2 * sizes[0])], LEFT - 80, WIDTH - RIGHT)
    y_axis = LogAxis.around([s for _, points in lines for _, s, _ in points], bottom, TOP)
    parts = []
    for tick, text in y_axis.labels():
        y = y_axis(tick)
        parts.append(_line(x_axis.begin, y, x_axis.end, y, GRID))
        parts.append(_text(x_axis.begin - 10, y + 4, text, "end"))
    parts += _vertical_grid(x_axis, [(size, f"{size:,}") for size in sizes], bottom)
    for place, (_, points) in enumerate(lines):
        pixels = [(x_axis(size), y_axis(seconds)) for size, seconds, _ in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in pixels)
        colour = STYLES[place % len(STYLES)][0]
        parts.append(f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='2'/>")
        for (x, y), (_, _, is_bound) in zip(pixels, points, strict=True):
            parts.append(_marker(place, x, y))
            parts += [_arrow(x, y, -90)] if is_bound else []
    return _document(bottom, title, axis_title, [name for name, _ in lines], parts)


def _document(bottom, title, axis_title, names, parts):
    height = bottom + BOTTOM
    head = (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{height}' "
        f"viewBox='0 0 {WIDTH} {height}' role='img' {FONT} fill='{INK}'>"
    )
    lines = [head, f"<title>{escape(title)}</title>", _rectangle(0, 0, WIDTH, height, "#ffffff")]
    lines.append(f"<text x='10' y='22' font-size='15' font-weight='bold'>{escape(title)}</text>")
    x = 16.0
    for place, name in enumerate(names):
        lines += [_marker(place, x, 44), _text(x + 11, 48, name, "start")]
        x += 34 + 7.2 * len(name)
    lines += [*parts, _text((LEFT + WIDTH - RIGHT) / 2, bottom + 40, axis_title, "middle")]
    return "\n".join([*lines, "</svg>"]) + "\n"


def _vertical_grid(axis, ticks, bottom):
    parts = []
    for tick, text in ticks:
        parts.append(_line(axis(tick), TOP, axis(tick), bottom, GRID))
        parts.append(_text(axis(tick), bottom + 18, text, "middle"))
    return parts


def _rectangle(x, y, width, height, colour):
    return f"<rect x='{x}' y='{y}' width='{width}' height='{height}' fill='{colour}'/>"


def _line(x1, y1, x2, y2, colour):
    ends = f"x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}'"
    return f"<line {ends} stroke='{colour}'/>"


def _text(x, y, text, anchor):
    return f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}'>{escape(text)}</text>"


def _arrow(x, y, degrees):
    """Says that the true place lies further in this direction."""
    place = f"transform='translate({x:.1f} {y:.1f}) rotate({degrees})'"
    return f"<path {place} d='M7 0h12m-4 -3l4 3l-4 3' fill='none' stroke='{INK}'/>"


SHAPES = {
    "circle": "m-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z",
    "diamond": "m0 -5.5l5.5 5.5l-5.5 5.5l-5.5 -5.5z",
    "square": "m-4.5 -4.5h9v9h-9z",
    "triangle": "m0 -5.5l5.5 10h-11z",
    "plus": "m-5.5 0h11m-5.5 -5.5v11",
    "cross": "m-4.5 -4.5l9 9m0 -9l-9 9",
    "ring": "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
}
STROKED = {"plus": 3, "cross": 3, "ring": 2}


def _marker(place, x, y):
    colour, shape = STYLES[place % len(STYLES)]
    if shape in STROKED:
        style = f"fill='none' stroke='{colour}' stroke-width='{STROKED[shape]}'"
    else:
        style = f"fill='{colour}' stroke='#ffffff' stroke-width='0.7'"
    return f"<path d='M{x:.1f} {y:.1f}{SHAPES[shape]}' {style}/>"
