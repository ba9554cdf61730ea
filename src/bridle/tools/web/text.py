"""Web pages as text that a model can read."""

import codecs
import re

from bridle.types.errors import ToolError

_MOST_HTML = 1_000_000
_DROPPED = ("script", "style", "noscript", "template", "svg", "iframe", "object", "canvas")
_TEXT_TYPES = re.compile(
    r"text/.+|application/(?:.+\+)?(?:json|xml|yaml|x-yaml|toml|javascript|ecmascript|x-javascript|ld\+json"
    r"|x-ndjson|graphql|sql|x-sh|x-www-form-urlencoded)|image/svg\+xml"
)
_HTML_TYPES = ("text/html", "application/xhtml+xml")
_META_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def require_text(content_type: str) -> None:
    """Turn away what is no text before it is loaded.

    Raises:
        ToolError: the type is a binary one.
    """
    kind = _kind(content_type)
    if kind and not _TEXT_TYPES.fullmatch(kind):
        raise ToolError(f"The URL returned {kind[:100]}, not text; download it with Bash and Read the file.")


def page_text(body: bytes, content_type: str) -> str:
    """The text of a page, with HTML turned into Markdown.

    Raises:
        ToolError: the page has no type and is not text.
    """
    kind = _kind(content_type)
    if not kind and b"\0" in body[:4096] and not body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise ToolError("The URL returned binary data; download it with Bash and Read the file.")
    html = kind in _HTML_TYPES or (not kind and b"<html" in body[:1024].lower())
    text = _decode(body, content_type, html=html)
    return _markdown(text) if html else text


def _kind(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _decode(body: bytes, content_type: str, *, html: bool) -> str:
    for name in _charsets(body, content_type, html=html):
        try:
            return body.decode(name, errors="replace")
        except (LookupError, UnicodeError):
            continue  # A name that is no character set says nothing; the next source may know better.
    return body.decode("utf-8", errors="replace")


def _charsets(body: bytes, content_type: str, *, html: bool) -> list[str]:
    names = [name for mark, name in _MARKS if body.startswith(mark)]
    if stated := re.search(r"""charset\s*=\s*["']?\s*([\w.:-]+)""", content_type, re.IGNORECASE):
        names.append(stated[1])
    if html and (written := _META_CHARSET.search(body[:4096])):
        names.append(written[1].decode("ascii", errors="replace"))
    return names


def _markdown(html: str) -> str:
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    bounded = _without(_without(html, "script"), "style")[:_MOST_HTML]
    if "<" not in bounded:
        return bounded
    soup = BeautifulSoup(re.sub(r"<\?xml[^>]*>", "", bounded), "html.parser")
    for element in soup(_DROPPED):
        element.decompose()
    for image in soup("img", src=re.compile("^data:")):
        image.decompose()
    try:
        text = MarkdownConverter(heading_style="ATX").convert_soup(soup)
    except RecursionError:
        # Pages nested this deep are not worth their structure.
        text = soup.get_text("\n")
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def _without(html: str, element: str) -> str:
    """Cut out elements whose content is no markup, before the slow parser sees them."""
    small = html.lower()
    if len(small) != len(html):
        return html
    kept: list[str] = []
    start = 0
    while (begin := small.find(f"<{element}", start)) >= 0 and (
        end := small.find(f"</{element}", begin)
    ) >= 0:
        kept.append(html[start:begin])
        closed = small.find(">", end)
        start = closed + 1 if closed >= 0 else len(html)
    return "".join((*kept, html[start:]))
