"""A whole page: the frame of `page.html`, the styles of `page.css`, and a body."""

import time
from importlib.resources import files
from string import Template

from bridle.commands.pages.html import Html, text
from bridle.version import __version__


def whole_page(title: str, body: Html) -> str:
    """A file that a browser shows without asking anyone for anything; scripts are forbidden in it."""
    folder = files("bridle.commands.pages")
    frame = Template(folder.joinpath("page.html").read_text(encoding="utf-8"))
    return frame.substitute(
        title=text(" ".join(title.split())[:200]),
        style=folder.joinpath("page.css").read_text(encoding="utf-8").strip(),
        body=body,
        footer=text(f"Written by bridle {__version__} on {time.strftime('%Y-%m-%d %H:%M')}."),
    )
