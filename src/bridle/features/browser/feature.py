"""The browser as a feature: nothing of it is imported or connected before the first use."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.engine.feature import Feature, RunningCall
from bridle.features.context import CommandCaller, FeatureContext
from bridle.tools.catalog import names_in, traits_of
from bridle.types.command import Command, CommandResult
from bridle.types.permission import Allow, Deny, Effect, Rule
from bridle.types.services.browser import BROWSER
from bridle.types.services.service import Service

if TYPE_CHECKING:
    from bridle.config.load import Config
    from bridle.engine.assignment import Assignment
    from bridle.engine.calls.call import Call
    from bridle.engine.turn import Turn
    from bridle.features.browser.session import SessionBrowser
    from bridle.types.permission import Case, Decision
    from bridle.types.tool import Tool

BROWSERS: "Service[BrowserFeature]" = Service("browsers", missing="This session has no browser.")
_LOCAL = frozenset(("localhost", "127.0.0.1", "[::1]", "::1", ""))
_NONE: frozenset[str] = frozenset()


class BrowserFeature(Feature):
    """Offers tools only while it is on."""

    name = "browser"

    def __init__(self, context: FeatureContext) -> None:
        self._context = context
        self._settings = context.settings
        self._made: SessionBrowser | None = None
        self.is_on = wanted(context)

    def part(self, key: Service[Any]) -> Any:
        if key is BROWSERS:
            return self
        return self.browser() if key is BROWSER and self.is_on else None

    def enabled_tools(self) -> frozenset[str]:
        return names_in("browser") if self.is_on else _NONE

    def commands(self) -> Sequence[Command]:
        return (
            Command(
                name="chrome",
                description="Let the model use tabs of your browser",
                run=self._run,
                argument_hint="[on|off|browser]",
                complete=lambda typed: tuple(
                    word for word in ("on", "off") if word.startswith(typed.lower())
                ),
            ),
        )

    def complete_call(self, tool: str, call: "Call", input: Any, turn: "Turn") -> "Call":
        """A call about a page names its tab and site: these are what is judged, and where it may happen."""
        if traits_of(tool).kind not in ("page", "page_view"):
            return call
        tab, site = (None, "") if self._made is None else self._made.place(input.tab)
        named = {"site": site} if tab is None else {"tab": tab, "site": site}
        return msgspec.structs.replace(call, input={**call.input, **named})

    def rules(self, tool: "Tool", subject: str) -> "Sequence[Rule]":
        """What was opened with the user's approval, or is shared, may be read."""
        if self._made is None or traits_of(tool.name).kind != "page_view":
            return ()
        if not self._made.may_see(subject.removeprefix("domain:")):
            return ()
        return (Rule(Effect.ALLOW, tool.name, subject),)

    async def review(self, turn: "Turn", case: "Case", decision: "Decision") -> "Decision":
        """What the administrator keeps on this machine, and names that lead into private networks."""
        kind = traits_of(case.tool).kind
        if kind in ("browse", "page", "page_view") and (why := self._kept_here(kind, case.subject)):
            return Deny(why, "rule")
        if not isinstance(decision, Allow) or kind != "browse":
            return decision
        from bridle.features.browser.private_hosts import reviewed

        return await reviewed(case, decision)

    def _kept_here(self, kind: str, subject: str) -> str:
        """Why managed settings forbid a call about this host; empty if they do not."""
        settings, host = self._settings, subject.removeprefix("domain:")
        if host in _LOCAL or host.endswith(".localhost"):
            return ""
        if kind == "browse" and settings.disable_browser_external_navigation:
            return f"managed settings keep the browser on this machine, and {host} is not on it"
        if kind != "browse" and settings.browser_external_page_tools == "disabled":
            return f"managed settings forbid tools on pages of other machines such as {host}"
        return ""

    def settle(self, running: RunningCall) -> None:
        if self._made is not None and traits_of(running.tool.name).kind == "browse":
            self._made.note_site(running.allowed.case.subject.removeprefix("domain:"))

    def reconfigure(self, before: "Config", now: "Config") -> None:
        self._settings = now.settings
        if before.settings.bridle_chrome != now.settings.bridle_chrome:
            self.is_on = now.settings.bridle_chrome is True

    def for_agent(self, work: "Assignment") -> Feature:
        return self

    async def close(self) -> None:
        if self._made is not None:
            await self._made.close()

    def browser(self) -> "SessionBrowser":
        """The browser of this session, which connects when it is needed."""
        if self._made is None:
            from bridle.features.browser.session import SessionBrowser

            context = self._context
            self._made = SessionBrowser(lambda: context.session.id, context.env)
        return self._made

    async def _run(self, arguments: str, caller: CommandCaller) -> CommandResult:
        from bridle.features.browser.command import chrome

        del caller
        return await chrome(arguments, self)


def wanted(context: FeatureContext) -> bool:
    """Whether the command line, or else the settings, ask for the browser."""
    options = context.options
    if options.chrome or options.no_chrome:
        return options.chrome and not options.no_chrome
    return context.settings.bridle_chrome is True
