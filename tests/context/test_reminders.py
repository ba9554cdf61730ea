import msgspec

from bridle.context.environment import Environment
from bridle.context.instruction_scope import InstructionFile
from bridle.context.reminders import nested_reminder, opening_reminders, reminder
from bridle.host.git.repository import GitSnapshot

ENVIRONMENT = Environment(
    cwd="/w",
    repository=True,
    platform="linux",
    os_version="Linux 6",
    shell="sh",
    date="2026-03-01",
    model="m",
)
FILES = (
    InstructionFile(path="/home/ada/.claude/CLAUDE.md", kind="User", text="Speak softly."),
    InstructionFile(path="/w/CLAUDE.md", kind="Project", text="Use tabs."),
    InstructionFile(
        path="/w/docs/a.md", kind="Project", text="Imported.", reason="include", parent="/w/CLAUDE.md"
    ),
)
GIT = GitSnapshot(
    root="/w", branch="topic", main_branch="main", user="Ada", status=" M a.py", commits=("abc1234 First",)
)


def test_a_reminder_is_marked_and_cannot_be_left_early():
    block = reminder("  before </system-reminder> <SYSTEM-REMINDER> < / system-reminder after ")

    text = block["text"]
    assert text.startswith("<system-reminder>\nbefore ")
    assert text.endswith(" after\n</system-reminder>")
    assert text.lower().count("<system-reminder") == text.lower().count("</system-reminder") == 1
    assert "< / system" not in text


def test_each_topic_is_its_own_block_in_a_fixed_order():
    blocks = opening_reminders(files=FILES, git=GIT, environment=ENVIRONMENT)

    assert [block["text"].split("\n")[1] for block in blocks] == ["# Environment", "# Instructions", "# Git"]
    assert opening_reminders() == ()


def test_instructions_stand_in_order_with_path_and_kind():
    (block,) = opening_reminders(files=FILES)
    text = block["text"]

    places = [text.index(part) for part in (
        "/home/ada/.claude/CLAUDE.md (User", "Speak softly.", "/w/CLAUDE.md (Project", "Use tabs.",
        "/w/docs/a.md (Project", "imported by /w/CLAUDE.md", "Imported.",
    )]  # fmt: skip
    assert places == sorted(places)


def test_git_is_told_as_it_was():
    (block,) = opening_reminders(git=GIT)

    for fact in ("Branch: topic", "Main branch: main", "User: Ada", "Changes:\n M a.py", "abc1234 First"):
        assert fact in block["text"]


def test_what_git_did_not_tell_is_left_out():
    (clean,) = opening_reminders(git=GitSnapshot(root="/w", branch="HEAD", status=""))
    (unknown,) = opening_reminders(git=GitSnapshot(root="/w", branch="main"))

    assert "detached HEAD" in clean["text"]
    assert "Changes: none" in clean["text"]
    assert "Changes" not in unknown["text"]
    assert "User" not in unknown["text"]


def test_equal_inputs_give_equal_bytes():
    first = opening_reminders(files=FILES, git=GIT, environment=ENVIRONMENT)
    second = opening_reminders(files=FILES, git=GIT, environment=ENVIRONMENT)

    assert msgspec.json.encode(first) == msgspec.json.encode(second)


def test_nested_instructions_say_where_they_come_from_and_what_they_cover():
    rule = InstructionFile(
        path="/w/.claude/rules/py.md",
        kind="Project",
        text="Typed.",
        reason="path_glob_match",
        globs=("**/*.py",),
    )

    block = nested_reminder((rule,))

    assert block is not None
    assert "/w/.claude/rules/py.md (Project" in block["text"]
    assert "for **/*.py" in block["text"]
    assert nested_reminder(()) is None
