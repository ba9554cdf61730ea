"""Filters of jq that look at nothing but their input: every name in them is known."""

import re

from bridle.permissions.word_lists import listed

_FUNCTIONS = listed("""
    abs acos add all any arrays ascii ascii_downcase ascii_upcase asin atan booleans bsearch builtins
    capture cbrt ceil combinations contains cos cosh date dateadd datesub debug del delpaths empty
    endswith error exp exp10 exp2 explode fabs finites first flatten floor frexp from_entries fromdate
    fromdateiso8601 fromjson fromstream getpath gmtime group_by gsub halt halt_error has
    have_literal_numbers implode in IN INDEX index indices infinite input input_line_number inputs
    inside isempty isfinite isinfinite isnan isnormal isvalid iterables join keys keys_unsorted last
    leaf_paths length limit localtime log log10 log2 ltrim ltrimstr map map_values match max max_by min
    min_by mktime modf nan nearbyint normals not now nth nulls numbers objects path paths pick pow range
    recurse recurse_down repeat reverse rindex rint round rtrim rtrimstr scalars scan select setpath
    significand sin sinh skip sort sort_by split splits sqrt startswith stderr strflocaltime strftime
    strings strptime sub sum tan tanh test to_entries toarray todate todateiso8601 tojson tonumber
    tostream tostring transpose trim trimstr trunc truncate_stream type unique unique_by until
    utf8bytelength values walk while with_entries
""")
_KEYWORDS = listed("""
    if then elif else end and or reduce foreach as def try catch label break true false null
""")
_FORMATS = listed("@text @json @html @uri @csv @tsv @sh @base64 @base64d @base32 @base32d @urid")
_TOKEN = re.compile(
    r"""(?P<blank>[ \t\n\r]+|\#[^\n\r]*)|(?P<field>\.[A-Za-z_]\w*)|(?P<dots>\.\.?)"""
    r"""|(?P<variable>\$[ \t\n]*[A-Za-z_]\w*)"""
    r"""|(?P<format>@\w+)|(?P<number>\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)|(?P<name>[A-Za-z_]\w*)|(?P<string>")"""
    r"""|(?P<operator>\?//=?|[|]=|//=?|[-+*/%]=|==|!=|<=|>=|[-+*/%<>=|,:;?()\[\]{}])""",
    re.ASCII,
)
_STRING = re.compile(r'[^"\\]+')
_VARIABLE = re.compile(r"[a-z]\w*|ARGS", re.ASCII)
_LONGEST = 4_000
_DEEPEST = 20


def only_looks(program: str, bound: frozenset[str] = frozenset()) -> bool:
    """Whether a filter names nothing but its input, its own functions and those that only compute.

    `bound` are variables that the command line sets."""
    if len(program) > _LONGEST:
        return False
    reader = _Reader(program, bound)
    return reader.read(0, None, 0) == len(program) and not reader.refused


class _Reader:
    """Goes over a filter once, into the expressions in its strings too."""

    def __init__(self, program: str, bound: frozenset[str]) -> None:
        self.text = program
        self.bound = bound
        self.refused = False
        self.functions = _FUNCTIONS | _defined(program)

    def read(self, at: int, closing: str | None, depth: int) -> int:
        """Behind what ends the expression that begins here."""
        opened: list[str] = []
        before = ""
        while at < len(self.text) and not self.refused:
            found = _TOKEN.match(self.text, at)
            if found is None or depth > _DEEPEST:
                return self._refuse(at)
            token, kind = found[0], found.lastgroup
            if closing is not None and token == closing and not opened:
                return found.end()
            at = found.end()
            if kind == "blank":
                continue
            if kind == "string":
                at = self._string(at, depth)
            elif kind == "operator":
                opened = self._bracketed(token, opened)
            elif not self._is_known(kind or "", token, before, at, opened):
                return self._refuse(at)
            before = token
        return at if closing is None and not opened else self._refuse(at)

    def _bracketed(self, token: str, opened: list[str]) -> list[str]:
        if token in "([{":
            return [*opened, token]
        if token in ")]}":
            if not opened or opened[-1] + token not in ("()", "[]", "{}"):
                self.refused = True
                return opened
            return opened[:-1]
        return opened

    def _is_known(self, kind: str, token: str, before: str, at: int, opened: list[str]) -> bool:
        match kind:
            case "variable":
                name = token[1:].strip()
                return name in self.bound or _VARIABLE.fullmatch(name) is not None
            case "format":
                return token in _FORMATS
            case "name":
                if opened[-1:] == ["{"] and before in ("{", ",") and (end := _KEY_END.match(self.text, at)):
                    # A key of an object is data, whatever it is called.
                    return end[1] == ":" or token not in _ELSEWHERE
                return token in _KEYWORDS or token in self.functions
            case _:
                return True

    def _string(self, at: int, depth: int) -> int:
        text = self.text
        while at < len(text):
            if found := _STRING.match(text, at):
                at = found.end()
            elif text[at] == '"':
                return at + 1
            elif text.startswith("\\(", at):
                at = self.read(at + 2, ")", depth + 1)
                if self.refused:
                    return at
            else:
                at += 2
        return self._refuse(at)

    def _refuse(self, at: int) -> int:
        self.refused = True
        return at


_KEY_END = re.compile(r"[ \t\n]*([:,}])")
_DEFINITION = re.compile(r"\bdef\s+([a-z]\w*)\s*(?:\(([\w\s;$]*)\))?\s*:", re.ASCII)


def _defined(program: str) -> frozenset[str]:
    """Functions that a filter defines, with the names of their arguments."""
    names: set[str] = set()
    for found in _DEFINITION.finditer(program):
        given = (name.strip() for name in (found[2] or "").split(";"))
        names |= {found[1], *(name for name in given if re.fullmatch(r"[a-z]\w*", name, re.ASCII))}
    return frozenset(names - _ELSEWHERE)


_ELSEWHERE = listed("env input_filename modulemeta get_search_list import include")
"""What a filter must not name even where it seems to define it: the text may stand in a string."""
