"""Decides the next answer: the first rule with an opinion on the prompt does the work."""

import re
from collections.abc import Callable

from bridle.providers.offline.conversation import LABEL, Conversation, Round
from bridle.providers.offline.lookups import lookup
from bridle.providers.offline.procedure import Plan, Procedure, Stopped
from bridle.providers.offline.topics import digest, honest_refusal, topic_answer

_LONGEST_ANSWER = 6_000
_STRAYED = (
    "I stopped: the conversation does not match my own steps, so I cannot continue. Ask again to start over."
)
_TEST_REQUESTS = (
    r"^(please )?(pytest|unittest|tests?|test (it|this|the (project|code)))[.! ]*$",
    r"\b(run|rerun|execute|start|check|try)\b[^`]*\b(tests?|suite|pytest|unittest)\b",
    r"\b(do|does|are|is)\b.*\b(tests?|suite)\b.*\b(pass\w*|green|fail\w*|work\w*|ok)\b",
    r"\b(what|which)\b.*\btests?\b.*\bfail",
)


def plan(conversation: Conversation) -> Plan:
    """The next answer; the same conversation always gives the same one."""
    opinions = (rule(conversation) for rule in RULES)
    procedure = next(opinion for opinion in opinions if opinion is not None)
    return _introduced(_replay(procedure, conversation.rounds), conversation)


def summarize(conversation: Conversation) -> Procedure | None:
    prompt = conversation.prompt.lower()
    if not re.search(r"\bsummar(y|i[sz]e)\b", prompt):
        return None
    about_work = re.search(r"\b(conversation|session|chat|so far|(we|you) did|have done)\b", prompt)
    return _say(digest(conversation)) if about_work else None


def repair_code(conversation: Conversation) -> Procedure | None:
    if not _asks_for_repair(conversation.prompt.lower()):
        return None
    from bridle.providers.offline.repair import repair

    return repair(conversation)


def run_suite(conversation: Conversation) -> Procedure | None:
    if not _asks_for_tests(conversation.prompt.lower()):
        return None
    from bridle.providers.offline.suite import report_tests

    return report_tests(conversation)


def about_bridle(conversation: Conversation) -> Procedure | None:
    answer = topic_answer(conversation)
    return None if answer is None else _say(answer)


def look(conversation: Conversation) -> Procedure | None:
    return lookup(conversation)


def refuse(conversation: Conversation) -> Procedure:
    return _say(honest_refusal(conversation))


RULES: tuple[Callable[[Conversation], Procedure | None], ...] = (
    summarize,
    repair_code,
    run_suite,
    about_bridle,
    look,
    refuse,
)


def _replay(procedure: Procedure, rounds: tuple[Round, ...]) -> Plan:
    try:
        step = next(procedure)
        for done in rounds:
            if done.calls != step.calls:
                return Plan(_STRAYED)
            step = procedure.send(done.results)
    except StopIteration as end:
        return Plan(end.value)
    except Stopped as stop:
        return Plan(str(stop))
    return step


def _introduced(chosen: Plan, conversation: Conversation) -> Plan:
    text = chosen.text if len(chosen.text) <= _LONGEST_ANSWER else f"{chosen.text[:_LONGEST_ANSWER]}…"
    if not conversation.introduced and LABEL not in text:
        text = f"This is {LABEL}. {text}".strip()
    return Plan(text, chosen.calls)


def _say(text: str) -> Procedure:
    # A procedure is a generator even when it has nothing to call.
    yield from ()
    return text


def _asks_for_repair(prompt: str) -> bool:
    if re.search(r"\b(do not|don't|without) (edit|chang|fix|touch|modif)", prompt):
        return False
    if re.match(r"(how|why|explain|what|where|list|show|find|search)\b", prompt):
        return False
    if re.search(r"\b(make|get|have)\b.*\b(tests?|suite|test_\w+)\b.*\b(pass|green|work|succeed)", prompt):
        return True
    return bool(
        re.search(r"\b(fix|repair|mend|debug|solve)\b|^(please )?correct\b", prompt)
        and re.search(
            r"\b(tests?|test_\w+|bugs?|fail\w*|broken|errors?|suite|code|project|it|this)\b|\.py\b", prompt
        )
    )


def _asks_for_tests(prompt: str) -> bool:
    if re.match(r"(how|why|explain|list|show|find|search)\b", prompt):
        return False
    return any(re.search(pattern, prompt) for pattern in _TEST_REQUESTS)
