"""Plain words: what must not come back in code, texts, prompts and names, and how large a package may be."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.modules import SOURCE, modules

_ROOT = SOURCE.parents[1]
_MOST_MODULES = 30

_WORDS = re.compile(
    r"""\b(
        whoever | whomever | somebody | nobody | anybody | everybody
        | mend(?:s|ed|ing)? | told | heeds? | heeded | heeding | hears? | heard | hearken\w*
        | goes\ on | go\ on | went\ on | by\ (?:itself|themselves|himself)
        | doors? | desks? | errands? | outfit\w* | vouch\w* | surroundings | lets?\ go | letting\ go
        | summed\ up | taken\ (?:away|back) | at\ work | has\ a\ defect | br(?:oke|eaks)\ off | nothing\ wrong
        | (?:looked\ up|made|began|begun|begins?|started|read|connect|opened|drawn|written)\ anew
        | cannot\ be\ kept | written\ down | looks?\ after | stays?\ as\ it\ was
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_BRITISH = re.compile(
    r"""(?:
        colour(?![?0-9]) | behaviour | favour(?!ites?[".]) | flavour | neighbour | honour | catalogue
        | (?:organ|recogn|normal|summar|author|emphas|optim|initial|serial|minim)is(?:e[drs]?|ing|ation)\b
        | \b(?:judgement|licence|grey|sceptic|misspelt|learnt|towards|whilst|amongst|tunnelled|labelled)\b
    )""",
    re.IGNORECASE | re.VERBOSE,
)
"""One spelling, the American one."""
_OPENINGS = re.compile(r'"""The same\b[^\n]*')
"""A docstring that cannot be read without the one above it."""
_TRUE_USES: dict[str, tuple[str, ...]] = {
    "frontends/tui/completion/emoji.py": ("door 🚪",),
    "providers/offline/conversation.py": ("continue|go on|carry on",),
    "providers/offline/planner.py": ("fix|repair|mend|debug",),
}
"""Sentences by file in which such a word is the right one."""
_NAMES = frozenset({
    "around", "beside", "chores", "crew", "desk", "door", "errands", "ground", "grounds", "hearing",
    "heeding", "means", "offer", "outfit", "paper", "room", "scene", "staff", "stage", "surroundings", "wish",
    "wishes",
})  # fmt: skip
"""Words that name nothing in particular: not even a glossary helps."""


def test_words_that_were_replaced_do_not_come_back():
    assert [line for path in _texts() for line in _found(path)] == []


def test_every_true_use_is_still_there():
    for path, sentences in _TRUE_USES.items():
        text = (SOURCE / path).read_text(encoding="utf-8")
        assert [sentence for sentence in sentences if sentence not in text] == [], path


def test_packages_are_small_enough_to_be_read_at_a_glance():
    sizes: dict[str, int] = {}
    for module in modules():
        package, _, name = module.rpartition("/")
        sizes[package] = sizes.get(package, 0) + (name != "__init__.py")
    assert {package for package, size in sizes.items() if size > _MOST_MODULES} == set()


def test_names_are_made_of_ordinary_words_or_stand_in_the_glossary():
    known = _plain_words() | _glossary()
    unknown = {name: words - known for name, words in _names() if words - known or words & _NAMES}
    assert unknown == {}


def test_list_of_ordinary_words_has_each_once_and_none_that_is_refused():
    lines = _PLAIN.read_text(encoding="utf-8").split()
    assert lines == sorted(set(lines))
    assert not set(lines) & _NAMES


def test_pages_for_people_have_none_of_these_words():
    assert [line for path in _pages() for line in _found_in(_prose(path), path.relative_to(_ROOT))] == []


def test_files_and_modules_that_pages_name_exist():
    packages = "|".join(sorted(path.name for path in SOURCE.iterdir() if path.is_dir()))
    below_a_package = re.compile(rf"(?<![\w./-])(?:src/bridle/)?((?:{packages})/[\w/]*\w(?:\.py|/))")
    alone = re.compile(r"`(\w+\.py)`")
    folders = (_ROOT / name for name in ("src", "tests", "bench", "fuzz", "scripts", "examples"))
    files = {path.name for folder in folders for path in folder.rglob("*.py")}
    missing: list[str] = []
    for page in _pages():
        text = page.read_text(encoding="utf-8")
        named = set(below_a_package.findall(text))
        lost = {name for name in named if not ((SOURCE / name).exists() or (_ROOT / name).exists())}
        lost |= {name for name in alone.findall(text) if name not in files}
        lost |= {name for name in _dotted(text) if not _is_defined(name)}
        missing += sorted(f"{page.name}: {name}" for name in lost)
    assert missing == []


def test_pages_use_no_name_from_before_a_rename():
    classes = {
        name for _, text in modules().items() for name in re.findall(r"^class (\w+)", text, re.MULTILINE)
    }
    table = (_ROOT / "docs/decisions/0028-plain-names.md").read_text(encoding="utf-8")
    old = set(re.findall(r"^\| `([A-Z]\w+)` in ", table, re.MULTILINE)) - classes
    used = [
        (page.name, name) for page in _pages() for name in re.findall(r"`(\w+)", _prose(page)) if name in old
    ]
    assert used == []


def _pages() -> list[Path]:
    """What people read: the pages of the documentation and the examples, without the history of decisions."""
    top = [_ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "AGENTS.md", "Makefile")]
    examples = [path for path in (_ROOT / "examples").rglob("*") if path.suffix in (".md", ".py", ".toml")]
    return [*top, *sorted((_ROOT / "docs").glob("*.md")), *sorted(examples)]


def _prose(page: Path) -> str:
    """A page without the rows of commands, which are copied from the code and checked there."""
    return re.sub(r"^\| `/.*$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE)


def _dotted(text: str) -> set[str]:
    found = re.findall(r"(?<![\w/@.-])bridle(?:\.\w+)+", text)
    return {name for name in found if name not in ("bridle.plugins", "bridle.example", "bridle.lock")}


def _is_defined(name: str) -> bool:
    """Whether a dotted name leads to a module, or to a name that its module defines or imports."""
    path, parts = SOURCE, name.split(".")[1:]
    while parts and ((path / parts[0]).is_dir() or (path / f"{parts[0]}.py").is_file()):
        path = path / parts.pop(0)
    if not parts:
        return True
    module = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return bool(re.search(rf"\b{re.escape(parts[0])}\b", module.read_text(encoding="utf-8")))


_PLAIN = Path(__file__).parent / "plain_words.txt"


def _plain_words() -> set[str]:
    return set(_PLAIN.read_text(encoding="utf-8").split())


def _glossary() -> set[str]:
    page = (_ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \|", page, re.MULTILINE)
    return {word for row in rows for word in re.findall(r"[a-z0-9]+", row.lower())}


def _names() -> Iterator[tuple[str, set[str]]]:
    """Every module and every public class, with the words that its name is made of."""
    for module, text in modules().items():
        parts = module.removesuffix("/__init__.py").removesuffix(".py").rpartition("/")[2].split("_")
        yield module, {part for part in parts if part}
        for name in re.findall(r"^class ([A-Z]\w*)", text, re.MULTILINE):
            words = re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*", name)
            yield f"{module}:{name}", {word.lower() for word in words}


def _texts() -> Iterator[str]:
    for path in sorted(SOURCE.rglob("*")):
        if path.suffix in (".py", ".md", ".js", ".html") and "__pycache__" not in path.parts:
            yield path.relative_to(SOURCE).as_posix()


def _found(path: str) -> Iterator[str]:
    text = (SOURCE / path).read_text(encoding="utf-8")
    for sentence in _TRUE_USES.get(path, ()):
        text = text.replace(sentence, "\n" * sentence.count("\n"))
    yield from _found_in(text, path)


def _found_in(text: str, path: str | Path) -> Iterator[str]:
    for pattern in (_WORDS, _BRITISH, _OPENINGS):
        for match in pattern.finditer(text):
            yield f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]}"
