import pytest

from bridle.permissions.auto.grants import entry_notice, is_dangerous, kept_rules
from bridle.permissions.rules import parse
from bridle.types.permission import Effect, Rule

_DANGEROUS = """
    Bash
    Bash(*)
    Bash(* --version)
    Bash(python:*)
    Bash(python *)
    Bash(python*)
    Bash(py*)
    Bash(python3.11 *)
    Bash(/usr/bin/python3 *)
    Bash(python -m *)
    Bash(python -c:*)
    Bash(python scripts/*)
    Bash("python" *)
    Bash(node:*)
    Bash(deno *)
    Bash(deno run *)
    Bash(bun -e *)
    Bash(bun *)
    Bash(uv run *)
    Bash(tsx:*)
    Bash(ruby *)
    Bash(perl *)
    Bash(php *)
    Bash(lua *)
    Bash(npx *)
    Bash(bunx:*)
    Bash(npm run:*)
    Bash(npm run *)
    Bash(npm *)
    Bash(npm r*)
    Bash(npm run build*)
    Bash(yarn run *)
    Bash(pnpm run:*)
    Bash(bun run *)
    Bash(bash *)
    Bash(sh -c *)
    Bash(zsh *)
    Bash(fish:*)
    Bash(s*)
    Bash(ssh *)
    Bash(ssh build.example *)
    Bash(eval *)
    Bash(exec *)
    Bash(env *)
    Bash(env A=1 *)
    Bash(env A=1 python *)
    Bash(A=1 *)
    Bash(xargs *)
    Bash(xargs -n 1 *)
    Bash(sudo *)
    Bash(sudo -u root bash *)
    Bash(sudo -u root *)
    Bash(sudo python *)
    Bash(timeout 5 *)
    Bash(timeout 5s python *)
    PowerShell
    PowerShell(Invoke-Expression *)
    PowerShell(pwsh.exe *)
"""

_KEPT = """
    Bash(git status)
    Bash(git *)
    Bash(git st*)
    Bash(python)
    Bash(python -m pytest)
    Bash(python manage.py *)
    Bash(bash scripts/build.sh:*)
    Bash(npx tsc *)
    Bash(npm test)
    Bash(npm test *)
    Bash(npm run build)
    Bash(npm run build:*)
    Bash(npm run lint *)
    Bash(sudo systemctl status *)
    Bash(timeout 5 git *)
    Bash(make *)
    Bash(bun test *)
    Bash(deno fmt *)
    Bash(deno run build.ts *)
    Bash(pytest:*)
    Read
    Edit(src/**)
    WebFetch(domain:*.example.org)
    mcp__tracker
"""


def _rules(texts: str) -> list[Rule]:
    return [parse(text, Effect.ALLOW, "userSettings") for text in texts.strip().splitlines()]


@pytest.mark.parametrize("rule", _rules(_DANGEROUS), ids=str)
def test_rule_that_lets_any_code_run_does_not_count(rule: Rule):
    assert is_dangerous(rule)


@pytest.mark.parametrize("rule", _rules(_KEPT), ids=str)
def test_rule_for_something_particular_counts(rule: Rule):
    assert not is_dangerous(rule)


@pytest.mark.parametrize("effect", [Effect.DENY, Effect.ASK])
def test_rules_that_deny_or_ask_always_count(effect: Effect):
    assert not is_dangerous(parse("Bash", effect))
    assert not is_dangerous(parse("Bash(python:*)", effect))


def test_only_dangerous_rules_are_left_out_and_the_others_keep_their_order():
    rules = (*_rules("Read\nBash(python:*)\nBash(git *)"), parse("Bash(python:*)", Effect.DENY))
    assert kept_rules(rules) == (rules[0], rules[2], rules[3])


def test_rules_stay_the_same_value_when_all_count():
    rules = tuple(_rules("Read\nBash(git *)"))
    assert kept_rules(rules) is rules


def test_notice_names_the_rules_that_do_not_count():
    notice = entry_notice(_rules("Bash(git *)\nBash(python:*)\nBash"))
    assert notice is not None
    assert "Bash(python:*), Bash" in notice and "git" not in notice
    assert entry_notice(_rules("Bash(git *)")) is None


def test_notice_stays_short_with_many_rules():
    rules = [Rule(Effect.ALLOW, "Bash", f"python -{n} *") for n in range(50)]
    notice = entry_notice(rules)
    assert notice is not None and "and 40 more" in notice and len(notice) < 400
