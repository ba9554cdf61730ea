"""The documentation that is installed with bridle: its pages, their sections, and what is found in them."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from bridle.types.errors import UsageError
from bridle.types.nearest import nearest, question

CHANGELOG = "changelog"
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_TOP = {"CHANGELOG.md": CHANGELOG, "SECURITY.md": "reporting"}
"""Pages at the top of a checkout, and their topics; `pyproject.toml` puts them into the package."""
_LONGEST_PAGE = 1_000_000
_MOST_NEAR = 3
_LONGEST_SUMMARY = 160
_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*$")
_PICTURE = re.compile(r"^!\[[^\]]*\]\([^)\s]+\)\n\n?", re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:")
_CODE = re.compile(r"(^[ ]{0,3}```.*?^[ ]{0,3}```[ ]*$)", re.MULTILINE | re.DOTALL)


class Page(Struct, frozen=True):
    """A page of the documentation."""

    topic: str
    """What it is asked for by: the name of its file."""
    title: str
    text: str
    """Markdown; links to other pages name the command that shows them."""

    @property
    def summary(self) -> str:
        """The first sentence below the title."""
        blocks = (block.strip() for block in _CODE.sub("", self.text).split("\n\n"))
        described = next((block for block in blocks if block and block[0] not in "#|<>-*"), "")
        return _first_sentence(_plain(described))


class Section(Struct, frozen=True):
    """A page from one heading to the next."""

    topic: str
    heading: str
    line: int
    """The line of the page on which the heading stands, from 0."""
    text: str


class Hit(Struct, frozen=True):
    """A section that has all the words of a search."""

    section: Section
    line: str
    """The line that shows it best."""


def pages() -> tuple[Page, ...]:
    """Every page, by topic; none where the documentation was not installed."""
    files = _files()
    return tuple(_page(topic, path, files) for topic, path in sorted(files.items()))


def topics() -> tuple[str, ...]:
    """The topics, without reading their pages."""
    return tuple(sorted(_files()))


def find_page(wanted: str, known: Sequence[Page]) -> Page:
    """The page for a topic; a file name or the only topic that begins so will do.

    Raises:
        UsageError: there is no such page; the sentence names topics that are like it.
    """
    topic = wanted.strip().lower().removeprefix("docs/").removesuffix(".md").replace(" ", "-")
    exact = [page for page in known if page.topic == topic]
    begun = exact or [page for page in known if topic and page.topic.startswith(topic)]
    if len(begun) == 1:
        return begun[0]
    if not known:
        raise UsageError("the documentation is missing from this installation; reinstall bridle")
    near = [page.topic for page in begun] or _near(topic, known)
    raise UsageError(f"unknown topic {wanted.strip()!r}{question(near[:_MOST_NEAR])}")


def listed(known: Sequence[Page]) -> str:
    """The topics with their titles, one per line."""
    width = max((len(page.topic) for page in known), default=0)
    return "\n".join(f"  {page.topic:<{width}}  {page.title}" for page in known)


def contents(known: Sequence[Page]) -> str:
    """The pages and what each is about, as Markdown."""
    rows = [f"- `{page.topic}`: {page.title}. {page.summary}" for page in known]
    return "\n".join(("# Documentation of bridle", "", "Read a page with `bridle docs <topic>`.", "", *rows))


def sections(page: Page) -> tuple[Section, ...]:
    """The sections of a page in their order; the first begins with the page."""
    lines = page.text.split("\n")
    starts = [(at, heading) for at, _, heading in _headings(lines)]
    if not starts or starts[0][0] != 0:
        starts.insert(0, (0, page.title))
    ends = [at for at, _ in starts[1:]] + [len(lines)]
    return tuple(
        Section(page.topic, heading, at, "\n".join(lines[at:end]))
        for (at, heading), end in zip(starts, ends, strict=True)
    )


def all_sections(known: Iterable[Page]) -> tuple[Section, ...]:
    """The sections of every page."""
    return tuple(section for page in known for section in sections(page))


def search(query: str, among: Iterable[Section]) -> list[Hit]:
    """Sections that have every word of the query, those whose heading has them first."""
    words = query.lower().split()
    if not words:
        return []
    found: list[tuple[tuple[int, int, str], Hit]] = []
    for section in among:
        text, name = section.text.lower(), f"{section.topic} {section.heading}".lower()
        if all(word in text or word in name for word in words):
            named = sum(word in name for word in words)
            seen = sum(text.count(word) for word in words)
            found.append(((-named, -seen, section.topic), Hit(section, _best_line(section.text, words))))
    return [hit for _, hit in sorted(found, key=lambda pair: pair[0])]


def newest_changes(known: Sequence[Page]) -> str:
    """What is new in the newest version of the changelog; empty where there is none."""
    page = next((page for page in known if page.topic == CHANGELOG), None)
    if page is None:
        return ""
    lines = page.text.split("\n")
    starts = [at for at, level, _ in _headings(lines) if level == 2]
    first, end = (*starts, len(lines), len(lines))[:2]
    return "\n".join(lines[first:end]).strip()


def _files() -> dict[str, str]:
    """The file of each topic: in the package, or beside its sources in a checkout."""
    installed = _markdown_in(os.path.join(_PACKAGE, "docs"))
    if installed:
        return installed
    checkout = os.path.dirname(os.path.dirname(_PACKAGE))
    found = _markdown_in(os.path.join(checkout, "docs"))
    return {**found, **{topic: os.path.join(checkout, name) for name, topic in _TOP.items()}} if found else {}


def _markdown_in(folder: str) -> dict[str, str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return {}
    return {name[:-3]: os.path.join(folder, name) for name in names if name.endswith(".md")}


def _page(topic: str, path: str, files: Iterable[str]) -> Page:
    with open(path, encoding="utf-8") as file:
        source = file.read(_LONGEST_PAGE)
    text = _relinked(source, frozenset(files))
    lines = text.split("\n")
    title = next((_plain(heading) for _, _, heading in _headings(lines)), topic)
    return Page(topic, title, text)


def _headings(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Line, level and text of every heading outside code."""
    fence = ""
    for at, line in enumerate(lines):
        if mark := _FENCE.match(line):
            fence = "" if fence == mark[1] else fence or mark[1]
        elif not fence and (heading := _HEADING.match(line)):
            yield at, len(heading[1]), _plain(heading[2])


def _relinked(source: str, topics: frozenset[str]) -> str:
    """The page without links to files that are not there: other pages are named by their command."""

    def replaced(link: re.Match[str]) -> str:
        text, target = link["text"], link["target"].partition("#")[0]
        if not target or _ELSEWHERE.match(target):
            return link[0] if target else text
        file = target.removeprefix("docs/").removeprefix("../")
        topic = _TOP.get(file) or file.removesuffix(".md")
        if topic == file or topic not in topics:
            return text
        command = f"`bridle docs {topic}`"
        return command if text.strip("`") in (target, file) else f"{text} ({command})"

    parts = _CODE.split(source)
    # Every other part is code, which is shown as it is.
    return "".join(
        part if at % 2 else _PICTURE.sub("", _LINK.sub(replaced, part)) for at, part in enumerate(parts)
    )


def _near(topic: str, known: Sequence[Page]) -> list[str]:
    """Topics that are spelled alike, then those whose title or text is about it."""
    spelled = nearest(topic, [page.topic for page in known], most=_MOST_NEAR)
    words = topic.replace("-", " ")
    titled = [page.topic for page in known if words and words in f"{page.topic} {page.title}".lower()]
    described = [hit.section.topic for hit in search(words, all_sections(known))]
    return list(dict.fromkeys((*spelled, *titled, *described)))


def _best_line(text: str, words: Sequence[str]) -> str:
    """The first line below the heading that has one of the words, or all of them where one has."""
    below = text.partition("\n")[2]
    small = below.lower()
    places = [at for word in words if (at := small.find(word)) >= 0]
    together = [at for at in places if all(word in _line_at(small, at) for word in words)]
    return _plain(_line_at(below, min(together or places, default=0)))


def _line_at(text: str, place: int) -> str:
    end = text.find("\n", place)
    return text[text.rfind("\n", 0, place) + 1 : len(text) if end < 0 else end]


def _plain(text: str) -> str:
    """Text without the marks of Markdown that would stand between its words."""
    return " ".join(re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", text).split())


def _first_sentence(text: str) -> str:
    sentence = re.split(r"(?<=[.!?])\s", text, maxsplit=1)[0]
    return sentence if len(sentence) <= _LONGEST_SUMMARY else f"{sentence[: _LONGEST_SUMMARY - 1].rstrip()}…"
