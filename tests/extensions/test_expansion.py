import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.engine.mentions import mentions_in
from bridle.extensions.expansion import Expanded, ExpansionContext, expand
from bridle.extensions.roots import Root
from bridle.extensions.skills import Skill
from bridle.types.errors import ToolError

HERE = ExpansionContext(session_id="s1", project_dir="/p", effort="high")


def skill(body: str, **fields: object) -> Skill:
    return Skill(name="one", values=fields, source="user", body=body)


async def shout(command: str) -> str:
    return f"<{command}>\n"


async def expanded(body: str, arguments: str = "", **fields: object) -> str:
    return (await expand(skill(body, **fields), arguments, HERE, shout)).text


@pytest.mark.parametrize(
    ("body", "arguments", "text"),
    [
        ("Do $ARGUMENTS now", "a  b", "Do a  b now"),
        ("$0 and $1", "x y", "x and y"),
        ("$ARGUMENTS[1] first", "x 'y z'", "y z first"),
        ("$0-$1.", "only", "only-."),
        ("Nothing here", "x", "Nothing here\n\nARGUMENTS: x"),
        ("Nothing here", "", "Nothing here"),
        ("$ARGUMENTS", "", ""),
        ("$ARGUMENTSX stays, $HOME too", "", "$ARGUMENTSX stays, $HOME too"),
        ("it's $0", "don't", "it's don't"),
    ],
)
async def test_arguments_take_their_places(body: str, arguments: str, text: str):
    assert await expanded(body, arguments) == text


async def test_named_arguments_are_counted_in_their_order():
    named = skill("Deploy $service to $stage, not $other", arguments="service stage")
    assert (await expand(named, "api prod", HERE, shout)).text == "Deploy api to prod, not $other"


async def test_facts_of_the_session_are_filled_in():
    text = await expanded("${CLAUDE_SESSION_ID} ${CLAUDE_EFFORT} ${CLAUDE_PROJECT_DIR} ${UNKNOWN}")
    assert text == "s1 high /p ${UNKNOWN}"


async def test_plugins_know_their_folders_and_options():
    root = Root(
        kind="skills", path="/x", source="plugin", plugin_root="/r", plugin_data="/d", options={"key": "v"}
    )
    body = "${CLAUDE_PLUGIN_ROOT} ${CLAUDE_PLUGIN_DATA} ${user_config.key}"
    of_plugin = Skill(name="p:one", values={}, source="plugin", body=body, root=root)
    assert (await expand(of_plugin, "", HERE, shout)).text == "/r /d v"


async def test_base_folder_stands_first():
    where = ExpansionContext(session_id="s", project_dir="/p", skill_dir="/skills/one")
    done = await expand(skill("See ${CLAUDE_SKILL_DIR}/x.md"), "", where, shout)
    assert done.text == "Base directory for this skill: /skills/one\n\nSee /skills/one/x.md"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("Branch: !`git branch`", "Branch: <git branch>"),
        ("!`echo $0`", "<echo arg>"),
        ("```!\nls\npwd\n```\nend", "<ls\npwd>\nend"),
        ("```sh\n!`not run`\n```", "```sh\n!`not run`\n```"),
        ("Say `` !`cmd` `` for it", "Say `` !`cmd` `` for it"),
        ("a!`glued` stays", "a!`glued` stays"),
    ],
)
async def test_commands_are_replaced_by_what_they_print(body: str, text: str):
    assert (await expanded(body, "arg")).removesuffix("\n\nARGUMENTS: arg") == text


async def test_commands_in_arguments_are_never_run():
    assert await expanded("Do $ARGUMENTS", "!`rm -rf /`") == "Do !`rm -rf /`"


async def test_variables_in_arguments_are_never_filled_in():
    assert await expanded("Do $ARGUMENTS", "$0 ${CLAUDE_SESSION_ID}") == "Do $0 ${CLAUDE_SESSION_ID}"


async def test_output_of_commands_is_not_looked_into():
    async def print_more(command: str) -> str:
        del command
        return "!`again` @file $0"

    done = await expand(skill("Out: !`x`"), "", HERE, print_more)
    assert done == Expanded("Out: !`again` @file $0", fixed="Out: ", given="")


async def test_failing_command_aborts():
    async def fail(command: str) -> str:
        raise ToolError(f"{command} failed")

    with pytest.raises(ToolError):
        await expand(skill("!`false`"), "", HERE, fail)


async def test_missing_file_is_said():
    gone = Skill(name="one", values={}, source="user", file="/nowhere/one/SKILL.md")
    with pytest.raises(ToolError, match="could not be read"):
        await expand(gone, "", HERE, shout)


async def test_text_and_commands_are_bounded():
    assert len(await expanded("x" * 500_000)) < 401_000
    with pytest.raises(ToolError):
        await expanded("!`x` " * 60)


@given(st.text(max_size=60))
async def test_arguments_stand_in_the_text_as_they_were_typed(arguments: str):
    assert await expanded("<$ARGUMENTS>", arguments) == f"<{arguments.strip()}>"


async def test_numbers_beyond_all_bounds_are_text():
    many = "9" * 5_000
    assert await expanded(f"${many} $ARGUMENTS[{many}] $0", "x") == f"${many} x[{many}] x"


@pytest.mark.parametrize(
    "body",
    [
        "```a\n" * 40_000,
        "`" * 200_000,
        " ".join("`" * (2 + number % 300) for number in range(2_000)),
        "~~~" * 60_000,
    ],
)
async def test_hostile_code_marks_are_looked_through_in_no_time(body: str):
    text = await expanded(f"{body}\n!`ls`")
    assert text.endswith("<ls>")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("````\n```!\nls\n```\n````", "````\n```!\nls\n```\n````"),
        ("```!\na\nb\n```\nand !`c`", "<a\nb>\nand <c>"),
        ("``!`no` `` but !`yes`", "``!`no` `` but <yes>"),
        ("```open\n!`ls`", "```open\n<ls>"),
        ("`` alone !`ls`", "`` alone <ls>"),
    ],
)
async def test_code_that_is_shown_is_told_from_code_that_runs(body: str, text: str):
    assert await expanded(body) == text


async def test_a_pasted_file_can_be_the_argument():
    assert await expanded("$1", f"{'x' * 1_000_000} second") == "second"


@pytest.mark.parametrize(
    ("body", "arguments", "fixed", "named"),
    [
        ("See @notes.md and @$ARGUMENTS.", "/x y", ["notes.md"], ["/x"]),
        ("@$1", "a /x", [], ["/x"]),
        ("@$ARGUMENTS[0]/$1", "/x y", [], ["/x/y"]),
        ('@"$ARGUMENTS"', "/my file", [], ["/my file"]),
        ('@"my dir/$0.txt" @b', "x", ["b"], ["my dir/x.txt"]),
        ("$ARGUMENTS", "@/x @b", [], ["/x", "b"]),
        ("@docs/$0.md", "../../x", [], ["docs/../../x.md"]),
        ("$0@a", "b ", [], []),
        ("$0 @a", "@", ["a"], []),
        ("@${ARGUMENTS}", "/x", ["${ARGUMENTS"], []),
        ("@$file", "/x", ["$file"], []),
        ("@a$0$1 @c", "1 2", ["c"], ["a12"]),
    ],
)
async def test_files_that_arguments_name_are_told_from_those_of_the_skill(
    body: str, arguments: str, fixed: list[str], named: list[str]
):
    """S1: what the model chooses is not what the author of the skill wrote."""
    done = await expand(skill(body), arguments, HERE, None)
    assert [mention.name for mention in mentions_in(done.fixed)] == fixed
    assert [mention.name for mention in mentions_in(done.given)] == named


@given(st.text(max_size=30), st.text(max_size=30))
async def test_no_character_of_the_arguments_gets_into_what_the_skill_names_itself(body: str, arguments: str):
    marked = "".join("\u2603" if not each.isspace() else each for each in arguments)
    done = await expand(skill(f"{body} $ARGUMENTS {body} @a/$0"), marked, HERE, None)
    assert "\u2603" not in done.fixed.replace(body, "")
