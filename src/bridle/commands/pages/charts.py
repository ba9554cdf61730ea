"""Charts as inline SVG; each mark says its value when pointed at."""

from collections.abc import Sequence

from msgspec import Struct

from bridle.commands.pages.html import Html, el, join

_WIDTH, _HEIGHT = 720, 220
_LEFT, _RIGHT, _BOTTOM, _TOP = 52, 704, 22, 10
_COLORS = 6
_LINES = 4
"""Lines of the grid."""
_MOST_POINTS = 400


class Column(Struct, frozen=True, kw_only=True):
    """A column of a chart: its name, and a value for each series."""

    name: str
    values: tuple[float, ...]
    title: str
    """What pointing at it tells."""


def columns(data: Sequence[Column], series: Sequence[str], *, unit: str) -> Html:
    """Stacked columns with a legend for more than one series; `unit` is `$` or empty."""
    top = _nice(max((sum(each.values) for each in data), default=0.0))
    step = (_RIGHT - _LEFT) / max(1, len(data))
    marks = [_stack(each, _LEFT + at * step, step, top) for at, each in enumerate(data)]
    names = _names([each.name for each in data], step)
    legend = _legend(series) if len(series) > 1 else None
    return el("div", _svg(_grid(top, unit), *marks, names), legend, class_="chart")


def _stack(column: Column, left: float, width: float, top: float) -> Html:
    parts: list[Html] = [el("title", column.title)]
    floor = float(_HEIGHT - _BOTTOM)
    for index, value in enumerate(column.values):
        if value > 0:
            height = max(value / top * _space(), 0.5)
            floor -= height
            parts.append(_rect(left + width * 0.12, floor, width * 0.76, height, class_=_series(index)))
    # The whole column answers to the pointer, empty ones too.
    return el("g", *parts, _rect(left, _TOP, width, _space(), fill="transparent"))


def _rect(x: float, y: float, width: float, height: float, **look: str) -> Html:
    return el("rect", x=round(x, 2), y=round(y, 2), width=round(width, 2), height=round(height, 2), **look)


def curve(
    values: Sequence[float], *, unit: str, top: float | None = None, limit: float | None = None
) -> Html:
    """One line over time, with a dashed line where a limit is."""
    points = _thinned(values)
    most = top or _nice(max((*points, limit or 0.0), default=0.0))
    width = (_RIGHT - _LEFT) / max(1, len(points) - 1)
    places = [(_LEFT + at * width, _y(value, most)) for at, value in enumerate(points)]
    if len(places) == 1:
        places.append((float(_RIGHT), places[0][1]))
    path = "M" + " L".join(f"{x:.1f},{y:.1f}" for x, y in places)
    floor = _HEIGHT - _BOTTOM
    area = f"{path} L{places[-1][0]:.1f},{floor} L{places[0][0]:.1f},{floor} Z"
    dots = [_dot(x, y, _said(value, unit)) for (x, y), value in zip(places, points, strict=False)]
    mark = None if limit is None else _across(_y(limit, most), "limit")
    shown = (el("path", d=area, class_="area"), el("path", d=path, class_="curve"))
    return el("div", _svg(_grid(most, unit), *shown, mark, *dots), class_="chart")


def _dot(x: float, y: float, title: str) -> Html:
    return el("circle", el("title", title), cx=round(x, 1), cy=round(y, 1), r=2.5, class_="series-1")


def _across(y: float, name: str) -> Html:
    return el("line", x1=_LEFT, x2=_RIGHT, y1=round(y, 1), y2=round(y, 1), class_=name)


def _svg(*parts: Html | None) -> Html:
    return el("svg", *parts, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img")


def _grid(top: float, unit: str) -> Html:
    rows: list[Html] = []
    for line in range(_LINES + 1):
        value = top * line / _LINES
        y = round(_y(value, top), 1)
        rows.append(_across(y, "grid"))
        rows.append(el("text", _said(value, unit), x=_LEFT - 8, y=y + 4, text_anchor="end", class_="axis"))
    return join(rows)


def _names(names: Sequence[str], step: float) -> Html:
    """As many names below the columns as there is space for."""
    every = max(1, round(56 / step))
    return join(
        _label(name, _LEFT + (at + 0.5) * step)
        for at, name in enumerate(names)
        if (len(names) - 1 - at) % every == 0
    )


def _label(name: str, x: float) -> Html:
    return el("text", name, x=round(x, 1), y=_HEIGHT - 5, text_anchor="middle", class_="axis")


def _legend(series: Sequence[str]) -> Html:
    marks = (
        el("span", el("svg", el("circle", cx=5, cy=5, r=5, class_=_series(at)), viewBox="0 0 10 10"), name)
        for at, name in enumerate(series)
    )
    return el("div", *marks, class_="legend")


def _series(index: int) -> str:
    return f"series-{index % _COLORS + 1}"


def _space() -> float:
    return _HEIGHT - _BOTTOM - _TOP


def _y(value: float, top: float) -> float:
    return _HEIGHT - _BOTTOM - (value / top * _space() if top else 0)


def _nice(most: float) -> float:
    """A round number that is not less."""
    if most <= 0:
        return 1.0
    size = 10.0 ** len(str(int(most))) if most >= 1 else 1.0
    while size / 10 >= most:
        size /= 10
    return next(size * part for part in (0.1, 0.2, 0.25, 0.4, 0.5, 0.8, 1.0) if size * part >= most)


def _said(value: float, unit: str) -> str:
    match unit:
        case "$":
            whole, _, cents = f"{value:,.4f}".rstrip("0").partition(".")
            return f"${whole}.{cents:0<2}"
        case "%":
            return f"{value:.0%}"
        case _:
            return short(value)


def short(number: float) -> str:
    """12.3k, 4.56M."""
    for size, name in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{name}"
    return f"{number:.3g}"


def _thinned(values: Sequence[float]) -> list[float]:
    """Not more points than can be seen, the highest of each group."""
    group = -(-len(values) // _MOST_POINTS)
    return [max(values[at : at + group]) for at in range(0, len(values), group)] if values else [0.0]
