"""Links below the prompt for what the conversation mentions (`footerLinksRegexes`)."""

import re
from collections.abc import Callable, Sequence
from urllib.parse import quote

from bridle.config.schema import FooterLink
from bridle.frontends.tui.render.layout import one_line, style
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span
from bridle.types.block import text_of
from bridle.types.event import AssistantReplied, ConversationReset, Event, ToolFinished, TurnFinished
from bridle.types.turn import Outcome

_MOST_LINKS = 5
_MOST_COLUMNS = 28
_LONGEST_URL = 2_048
_MOST_CHARACTERS = 50_000
_NAMED_GROUP = re.compile(r"\(\?<(?![=!])")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_ORIGIN = re.compile(
    r"(?:https?|vscode|vscode-insiders|cursor|windsurf|zed|jetbrains|idea|slack|linear|notion|figma)"
    r"://[^/?#{}\s]+(?:[/?#]|$)"
)


class FooterLinks:
    """Looks through what a turn brought when it is over; the newest links are kept."""

    def __init__(self, rules: Sequence[FooterLink], warn: Callable[[str], None]) -> None:
        self._rules = [(rule, found) for rule in rules if (found := _compiled(rule, warn)) is not None]
        self._texts: list[str] = []
        self._links: dict[str, str] = {}
        """Labels by their addresses, the oldest first."""

    def take(self, event: Event) -> None:
        match event:
            case AssistantReplied(message=message):
                self._texts.append(text_of(message["content"]))
            case ToolFinished(result=result):
                self._texts.append(text_of(result.get("content") or ""))
            case TurnFinished():
                self._look()
            case ConversationReset():
                self._texts, self._links = [], {}
            case _:
                pass

    def finish(self, outcome: Outcome | None) -> None:
        del outcome

    def rows(self, width: int) -> list[Line]:
        """One row with a link for each, the newest last."""
        if not self._links:
            return []
        spans: list[Span] = []
        for url, label in self._links.items():
            spans += [*([Span("  ")] if spans else []), Span(label, style("info", underline=True, link=url))]
        return [cells.truncate(tuple(spans), width)]

    def _look(self) -> None:
        text, self._texts = "\n".join(self._texts)[-_MOST_CHARACTERS:], []
        for rule, pattern in self._rules:
            for found in pattern.finditer(text):
                if (url := _filled(rule.url, found, escaped=True)) and len(url) <= _LONGEST_URL:
                    label = _filled(rule.label, found, escaped=False) if rule.label else found[0]
                    self._links.pop(url, None)
                    self._links[url] = cells.truncate_text(one_line(label), _MOST_COLUMNS)
        self._links = dict(list(self._links.items())[-_MOST_LINKS:])


def _compiled(rule: FooterLink, warn: Callable[[str], None]) -> re.Pattern[str] | None:
    """The pattern, with names of groups as Python writes them."""
    if _ORIGIN.match(rule.url) is None:
        warn(f"footerLinksRegexes: {rule.url!r} must start with a complete address that has no placeholders.")
        return None
    try:
        return re.compile(_NAMED_GROUP.sub("(?P<", rule.pattern))
    except (re.error, RecursionError, OverflowError) as error:
        warn(f"footerLinksRegexes: {rule.pattern!r} is not a valid pattern: {error}.")
        return None


def _filled(template: str, found: re.Match[str], *, escaped: bool) -> str:
    """The template with what the named groups hold; what fills an address cannot change where it leads."""
    groups = found.groupdict()

    def fill(placeholder: re.Match[str]) -> str:
        value = groups.get(placeholder[1])
        if placeholder[1] not in groups:
            return placeholder[0]
        return quote(value or "", safe="") if escaped else value or ""

    return _PLACEHOLDER.sub(fill, template)
