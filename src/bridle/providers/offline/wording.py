"""Finds the file, folder, kind of file or text that a plain request names."""

import re

_KINDS = {
    "python": "py", "py": "py", "javascript": "js", "typescript": "ts", "markdown": "md", "json": "json",
    "yaml": "yaml", "yml": "yml", "toml": "toml", "text": "txt", "html": "html", "css": "css", "shell": "sh",
    "rust": "rs", "go": "go", "java": "java", "ruby": "rb", "sql": "sql", "csv": "csv", "xml": "xml",
}  # fmt: skip
_BARE_NAMES = ("readme", "license", "makefile", "dockerfile", "changelog", "contributing")
_HERE = (
    "a", "an", "this", "that", "the", "here", "my", "our", "your", "current", "project", "repo", "repository",
    "all", "every", "any", "code", "it", "source", "files", "file", "folder", "directory", "test", "tests",
)  # fmt: skip
_FILE = r"[\w~./@+-]*\w\.[A-Za-z]\w{0,9}"
_PLACE = r"(?:\s+(?:in|under|inside|within|across)\s+.+)?$"
_SUBJECTS = (
    r"\b(?:uses?|usages?|occurrences?|references?|mentions?|calls?)\s+(?:of|to)\s+(\S+)",
    r"\b(?:search|grep|look|looking)\b.*?\bfor\s+(?:the\s+(?:word|text|string|phrase)\s+)?(.+?)",
    r"\bgrep\s+(.+?)",
    r"\bfiles?\s+(?:that\s+)?(?:contain|mention|use|import|call)s?\s+(.+?)",
    r"\bwho\s+(?:calls|uses)\s+(\S+)",
    r"\bwhere\s+(?:is\s+|are\s+|do\s+|does\s+|we\s+|you\s+)*(?:the\s+)?(\w\S*)\s+(?:is\s+|are\s+)?"
    r"(?:used|called|imported|mentioned)",
    r"\bwhere\s+(?:is|are)\s+(?:the\s+)?(\w\S*)",
    r"\b(?:find|locate)\s+(?:all\s+|every\s+|any\s+|the\s+(?:word|text|string)\s+)?(\w\S*)",
    r"\bsearch\s+(?:the\s+)?(\w\S*)",
)
_ENTITY = (
    r"(?:(?:function|class|method|variable|constant|type|symbol)\s+)?[`'\"]?([A-Za-z_][\w.]*)[`'\"]?(?:\(\))?"
)
_DEFINITIONS = (
    rf"where\s+(?:is\s+|are\s+)?(?:the\s+)?{_ENTITY}\s+(?:is\s+|are\s+|gets\s+)?"
    r"(?:defined|declared|implemented|created)",
    rf"(?:definition|declaration|implementation)\s+of\s+(?:the\s+)?{_ENTITY}",
    r"(?:find|locate|show)\s+(?:me\s+)?(?:the\s+)?(?:function|class|method)\s+[`'\"]?([A-Za-z_]\w*)",
)


def sought_text(prompt: str) -> str | None:
    """The text that a search request looks for."""
    if quoted := re.search(r"`([^`]+)`|\"([^\"]+)\"|(?<!\w)'([^']+)'", prompt):
        return next(part for part in quoted.groups() if part)
    matches = (re.search(pattern + _PLACE, prompt, re.IGNORECASE) for pattern in _SUBJECTS)
    return next((match[1].strip() for match in matches if match), None)


def sought_definition(prompt: str) -> str | None:
    """The name whose definition is asked for."""
    matches = (re.search(pattern, prompt, re.IGNORECASE) for pattern in _DEFINITIONS)
    return next((match[1].rpartition(".")[2] for match in matches if match), None)


def named_pattern(prompt: str) -> str:
    """The glob for the files that a listing request means."""
    if spelled := re.search(r"[\w./-]*\*[\w./*-]*", prompt):
        return spelled[0] if "/" in spelled[0] else f"**/{spelled[0]}"
    if named := re.search(rf"\b(?:named|called)\s+[`'\"]?({_FILE})", prompt):
        return f"**/{named[1]}"
    if re.search(r"\b(?:tests?|test files)\b", prompt):
        return "**/test*.py"
    kind = named_kind(prompt)
    return f"**/*.{kind}" if kind else "**/*"


def named_kind(prompt: str) -> str | None:
    """The file name extension of a kind of file, such as `md` for markdown files."""
    things = r"(?:source\s+|code\s+)?(?:files?|modules?|sources?|code)\b"
    found = re.search(rf"\b({'|'.join(_KINDS)})\b\s+{things}", prompt, re.IGNORECASE)
    return _KINDS[found[1].lower()] if found else None


def named_folder(prompt: str) -> str | None:
    """The folder or file that a request is limited to."""
    found = re.findall(
        r"\b(?:in|under|inside|within|contents? of)\s+"
        r"(?:the\s+)?(?:folder\s+|directory\s+)?[`'\"]?([\w.~/-]+)",
        prompt,
        re.IGNORECASE,
    )
    names = [name.rstrip("./") for name in found]
    ordinary = (*_HERE, *_KINDS, *_BARE_NAMES)
    return next((name for name in names if name and name.lower() not in ordinary), None)


def named_file(prompt: str) -> str | None:
    """The file that a request names; well-known files also by a bare name such as "the readme"."""
    for word in re.findall(r"[^\s`'\"(),;!?]+", prompt):
        bare = word.strip(":@").rstrip(".")
        if re.fullmatch(_FILE, bare) and bare.lower() not in ("e.g", "i.e") and not bare.startswith("-"):
            return bare
    for word in re.findall(r"\w+", prompt):
        if word.lower() in _BARE_NAMES:
            return word.capitalize() if word.lower() in ("makefile", "dockerfile") else word.upper()
    return None
