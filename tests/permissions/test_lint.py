"""Rules that do nothing are found."""

from collections.abc import Sequence

from bridle.permissions.lint import lint
from bridle.types.permission import Rule
from tests.permissions.cases import rules
from tests.tables import table

TOOLS = ("Bash", "Read", "Edit", "WebFetch", "Skill")


@table(
    ("weighed", "found"),
    [
        (rules(allow=("Bash(ls:*)", "Read(src/**)", "mcp__s__t", "Skill(x *)")), []),
        (rules(deny=("*",)), []),
        (rules(deny=("mcp__*",)), []),
        (rules(allow=("Bsh(ls)",)), ["Bsh(ls)"]),
        (rules(allow=("Bash(git:* push)",)), ["Bash(git:* push)"]),
        (rules(allow=("Bash(git push *)",), deny=("Bash(git *)",)), ["Bash(git push *)"]),
        (rules(allow=("Bash(git push:*)",), deny=("Bash(git:*)",)), ["Bash(git push:*)"]),
        (rules(allow=("Bash(git *)",), deny=("Bash(git push *)",)), []),
        (rules(allow=("Bash(ls)",), ask=("Bash",)), ["Bash(ls)"]),
        (rules(ask=("Bash(ls)",), deny=("Bash(ls)",)), ["Bash(ls)"]),
        (rules(allow=("Bash(ls)", "Bash(ls)")), ["Bash(ls)"]),
        (rules(allow=("Bash(ls *)", "Bash(ls -l)")), ["Bash(ls -l)"]),
        (rules(allow=("mcp__s__t",), deny=("mcp__s",)), ["mcp__s__t"]),
        (rules(allow=("Read(secrets/a/**)",), deny=("Read(secrets/**)",)), ["Read(secrets/a/**)"]),
        (rules(allow=("Read(secrets/**)",), deny=("Read(secrets/a/**)",)), []),
        (
            rules(allow=("Read(/a/b)",), source="userSettings")
            + rules(deny=("Read(/a/**)",), source="projectSettings"),
            [],
        ),
    ],
)
def test_rules_without_effect_are_found(weighed: Sequence[Rule], found: list[str]):
    assert [str(finding.rule) for finding in lint(weighed, TOOLS)] == found
