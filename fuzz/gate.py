"""One campaign against the gate: commands are made, decided in this process, and the allowed ones run."""

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from bridle.permissions.policy import decide
from bridle.permissions.prepare import Asked, Standing, prepare
from bridle.permissions.rules import parse
from bridle.permissions.shell.reading import only_reads
from bridle.types.permission import Allow, Effect, Mode
from fuzz.commands import Maker
from fuzz.denials import DenialMaker
from fuzz.edits import EditMaker
from fuzz.mutations import Mutator
from fuzz.option_tables import OptionMaker
from fuzz.playground import Playground
from fuzz.runner import Runner

CORPUS = Path(__file__).with_name("corpus")
FOUND = CORPUS / "found.jsonl"
_GATE = Path(__file__).parents[1] / "tests" / "permissions" / "corpus"
CAMPAIGNS = ("read", "edit", "deny")
_MODES: dict[str, Mode] = {"read": "default", "edit": "acceptEdits", "deny": "bypassPermissions"}


class Hole(Struct, frozen=True):
    """A command that was allowed and did what it must not do."""

    campaign: str
    command: str
    did: tuple[str, ...]


class Tally(Struct):
    """What a campaign came to."""

    decided: int = 0
    allowed: int = 0
    ran: int = 0
    hung: int = 0
    seconds_deciding: float = 0.0
    holes: list[Hole] = []


class Decider:
    """Decides as a session in the playground would."""

    def __init__(self, playground: Playground, campaign: str) -> None:
        self._where = (playground.project, playground.home)
        self._campaign = campaign
        denied = "Bash(evil:*)" if campaign == "deny" else "Read(.env)"
        self._standing = Standing(
            rules=(parse(denied, Effect.DENY, "userSettings"),),
            mode=_MODES[campaign],
            cwd=playground.project,
            start=playground.project,
            roots=(playground.project,),
            home=playground.home,
            config_home=f"{playground.home}/.claude",
        )

    def may_run(self, command: str) -> bool:
        """Whether the command runs unasked; the reading alone settles most, links and rules the rest."""
        if self._campaign == "read":
            cwd, home = self._where
            if not only_reads(command, cwd=cwd, home=home):
                return False
        asked = Asked(tool="Bash", input={"command": command}, subject=command)
        return isinstance(decide(prepare(asked, self._standing)), Allow)


def sources(campaign: str, playground: Playground, choose: random.Random) -> tuple[Callable[[], str], ...]:
    """Where the commands of a campaign come from, each as often as it stands here."""
    mutated = Mutator(seeds(campaign), choose).command
    if campaign == "edit":
        edits = EditMaker(choose).command
        return (edits, edits, mutated)
    if campaign == "deny":
        denials = DenialMaker(choose, playground.programs).command
        return (denials, denials, mutated)
    made, options = Maker(choose).command, OptionMaker(choose).command
    return (made, made, mutated, mutated, options)


def seeds(campaign: str) -> list[str]:
    """The commands that mutations start from: what was found before, and the corpora of the tests."""
    kept = [each.command for each in found() if each.campaign == campaign]
    if campaign != "read":
        return kept + [line.replace("⏎", "\n") for line in _lines(CORPUS / f"{campaign}.txt")]
    everyday = [
        line.removeprefix("free  ") for line in _lines(_GATE / "ordinary.txt") if line.startswith("free  ")
    ]
    attacks = [line.replace("\\n", "\n") for line in _lines(_GATE / "attacks.txt")]
    return [*kept, *(line.replace("⏎", "\n") for line in everyday), *attacks]


def found() -> list[Hole]:
    """What campaigns have found so far, each in its smallest form."""
    lines = FOUND.read_bytes().splitlines() if FOUND.exists() else []
    return [msgspec.json.decode(line, type=Hole) for line in lines]


def run_campaign(
    campaign: str,
    playground: Playground,
    *,
    seed: int,
    until: Callable[[Tally], bool],
    runner: Runner | None,
    told: Callable[[Hole], None] = lambda _: None,
) -> Tally:
    """Decide and run until `until` says that it is enough; each allowed command is run once."""
    choose = random.Random(seed)
    decider, tally = Decider(playground, campaign), Tally()
    seen: set[str] = set()
    for command in _commands(campaign, playground, choose):
        began = time.perf_counter()
        allowed = decider.may_run(command)
        tally.seconds_deciding += time.perf_counter() - began
        tally.decided += 1
        if allowed and command not in seen:
            seen.add(command)
            tally.allowed += 1
            if runner is not None and (hole := _try(campaign, command, runner, tally)) is not None:
                smallest = shrink(hole, decider, runner)
                if smallest.command not in {each.command for each in tally.holes}:
                    tally.holes.append(smallest)
                    told(smallest)
        if tally.decided % 256 == 0 and until(tally):
            return tally
    return tally


def shrink(hole: Hole, decider: Decider, runner: Runner) -> Hole:
    """The same hole with every piece taken out that it does not need."""
    command, did = hole.command, hole.did
    size = max(1, len(command) // 2)
    while size:
        start = 0
        while start < len(command):
            shorter = command[:start] + command[start + size :]
            if shorter.strip() and decider.may_run(shorter) and (does := _wrongs(runner.run(shorter))):
                command, did = shorter, does
            else:
                start += size
        size //= 2
    return Hole(hole.campaign, command, did)


def _commands(campaign: str, playground: Playground, choose: random.Random) -> Iterator[str]:
    makers = sources(campaign, playground, choose)
    while True:
        yield choose.choice(makers)()


def _try(campaign: str, command: str, runner: Runner, tally: Tally) -> Hole | None:
    did = runner.run(command)
    tally.ran += 1
    tally.hung += "hangs" in did
    wrongs = _wrongs(did)
    return Hole(campaign, command, wrongs) if wrongs else None


def _lines(file: Path) -> list[str]:
    return [
        line for line in file.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")
    ]


def _wrongs(did: list[str]) -> tuple[str, ...]:
    return tuple(each for each in did if each != "hangs")
