from typing import Any

import msgspec
import pytest

from bridle.config.load import load
from bridle.config.sources import Layer, Source
from bridle.hooks.handler import CallbackHook, HookSource, Origin
from bridle.hooks.table import Entry, Listeners, Policy, Table, choose, from_host, from_layers, from_values
from tests.fakes.hook_scripts import layer


def _hooks(*commands: str, matcher: str | None = None, **more: Any) -> list[dict[str, Any]]:
    hooks = [{"type": "command", "command": command, **more} for command in commands]
    return [{"matcher": matcher, "hooks": hooks}]


def _commands(entries: list[Entry] | tuple[Entry, ...]) -> list[str]:
    return [getattr(entry.hook, "command", "") for entry in entries]


def _counting(table: Table, event: str = "PreToolUse") -> list[str]:
    return _commands(Listeners(table).of(event))


def test_all_sources_add_up_lowest_first_and_plugins_last():
    plugin = from_values({"PreToolUse": _hooks("plugin")}, Origin(source="plugin", owner="p"))
    layers = [
        layer({"PreToolUse": _hooks("user")}),
        layer({"PreToolUse": _hooks("project")}, "projectSettings"),
        layer({"PreToolUse": _hooks("local")}, "localSettings"),
        layer({"PreToolUse": _hooks("flag")}, "flagSettings"),
        layer({"PreToolUse": _hooks("managed")}, "policySettings"),
    ]
    table = from_layers(layers, trusted=True, plugins=[plugin])
    assert _counting(table) == ["user", "project", "local", "flag", "managed", "plugin"]


def test_hook_knows_where_it_was_written():
    text = '{\n "hooks": {\n  "Stop": [\n   {"hooks": [\n    {"type": "command", "command": "x"}\n]}]}}'
    read = Layer("projectSettings", "/p/.claude/settings.json", msgspec.json.decode(text), text)
    (entry,) = from_layers([read], trusted=True).entries
    expected = Origin(
        source="projectSettings", file="/p/.claude/settings.json", key="hooks.Stop[0].hooks[0]", line=5
    )
    assert entry.origin == expected


def test_identical_handler_of_several_files_runs_once():
    layers = [
        layer({"PreToolUse": _hooks("lint", matcher="Bash")}),
        layer({"PreToolUse": _hooks("lint", "other", matcher="Bash|Edit")}, "projectSettings"),
    ]
    table = from_layers(layers, trusted=True)
    assert _commands(choose(table.entries, "Bash", None)) == ["lint", "other"]
    assert _commands(choose(table.entries, "Edit", None)) == ["lint", "other"]


def test_handlers_that_differ_in_anything_both_run():
    layers = [
        layer({"PreToolUse": _hooks("lint")}),
        layer({"PreToolUse": _hooks("lint", timeout=5)}, "localSettings"),
    ]
    assert len(choose(from_layers(layers, trusted=True).entries, "Bash", None)) == 2


def test_the_same_words_of_two_plugins_are_two_hooks():
    tables = [
        from_values({"Stop": _hooks("${CLAUDE_PLUGIN_ROOT}/x")}, Origin(source="plugin", owner=name))
        for name in ("a", "b")
    ]
    assert len(choose(from_layers([], trusted=True, plugins=tables).entries, None, None)) == 2


def test_every_callback_of_the_host_is_called():
    callback = CallbackHook(callback_id="1")
    entries = [from_host("Stop", callback), from_host("Stop", callback)]
    assert len(choose(entries, None, None)) == 2


@pytest.mark.parametrize("source", ["projectSettings", "localSettings"])
def test_hooks_of_a_folder_do_not_run_before_it_is_trusted(source: Source):
    layers = [layer({"Stop": _hooks("mine")}), layer({"Stop": _hooks("theirs")}, source)]
    assert _counting(from_layers(layers, trusted=False), "Stop") == ["mine"]
    assert _counting(from_layers(layers, trusted=True), "Stop") == ["mine", "theirs"]


def test_skill_of_an_untrusted_folder_brings_no_hooks():
    listeners = Listeners(from_layers([], trusted=False))
    for shared in (True, False):
        origin = Origin(source="skill", owner="deploy", shared=shared)
        listeners.add(from_values({"Stop": _hooks(f"shared {shared}")}, origin).entries)
    assert _commands(listeners.of("Stop")) == ["shared False"]


def test_untrusted_folder_cannot_switch_off_the_hooks_that_guard_against_it():
    layers = [layer({"Stop": _hooks("guard")}), layer({}, "projectSettings", disableAllHooks=True)]
    assert _counting(from_layers(layers, trusted=False), "Stop") == ["guard"]
    assert _counting(from_layers(layers, trusted=True), "Stop") == []


def test_disabling_all_hooks_leaves_those_of_the_management_and_of_the_host():
    layers = [
        layer({"Stop": _hooks("user")}, disableAllHooks=True),
        layer({"Stop": _hooks("managed")}, "policySettings"),
    ]
    plugin = from_values({"Stop": _hooks("plugin")}, Origin(source="plugin", owner="p"))
    listeners = Listeners(from_layers(layers, trusted=True, plugins=[plugin]))
    listeners.add([from_host("Stop", CallbackHook(callback_id="1"))])
    assert [entry.origin.source for entry in listeners.of("Stop")] == ["policySettings", "session"]


def test_management_can_disable_its_own_hooks_too():
    layers = [
        layer({"Stop": _hooks("user")}),
        layer({"Stop": _hooks("m")}, "policySettings", disableAllHooks=True),
    ]
    assert _counting(from_layers(layers, trusted=True), "Stop") == []


def test_higher_file_switches_hooks_on_again():
    layers = [
        layer({"Stop": _hooks("x")}, disableAllHooks=True),
        layer({}, "localSettings", disableAllHooks=False),
    ]
    assert _counting(from_layers(layers, trusted=True), "Stop") == ["x"]


def test_null_in_the_flag_settings_takes_back_what_the_files_say():
    files = [layer({"Stop": _hooks("a"), "Setup": _hooks("b")}, disableAllHooks=True)]
    one = from_layers([*files, layer({"Stop": None}, "flagSettings", disableAllHooks=None)], trusted=True)
    assert (_counting(one, "Stop"), _counting(one, "Setup")) == ([], ["b"])
    assert from_layers([*files, layer(None, "flagSettings")], trusted=True).entries == ()


def test_managed_only_leaves_nobody_else_but_the_host():
    layers = [
        layer({"Stop": _hooks("user")}),
        layer({"Stop": _hooks("managed")}, "policySettings", allowManagedHooksOnly=True),
    ]
    plugin = from_values({"Stop": _hooks("plugin")}, Origin(source="plugin", owner="p"))
    listeners = Listeners(from_layers(layers, trusted=True, plugins=[plugin]))
    listeners.add([from_host("Stop", CallbackHook(callback_id="1"))])
    assert _commands(listeners.of("Stop")) == ["managed", ""]


def test_plugins_only_leaves_plugins_and_the_management():
    layers = [
        layer({"Stop": _hooks("user")}),
        layer({"Stop": _hooks("managed")}, "policySettings", strictPluginOnlyCustomization=["hooks"]),
    ]
    plugin = from_values({"Stop": _hooks("plugin")}, Origin(source="plugin", owner="p"))
    assert _counting(from_layers(layers, trusted=True, plugins=[plugin]), "Stop") == ["managed", "plugin"]


@pytest.mark.parametrize(
    "event, kind, runs",
    [
        ("SessionStart", "command", True),
        ("SessionStart", "mcp_tool", True),
        ("SessionStart", "http", False),
        ("SessionStart", "prompt", False),
        ("Setup", "command", True),
        ("Setup", "mcp_tool", False),
        ("PermissionRequest", "prompt", True),
        ("PermissionRequest", "agent", False),
        ("PreToolUse", "agent", True),
        ("Stop", "http", True),
    ],
)
def test_events_take_only_their_kinds_of_hooks(event: str, kind: str, runs: bool):
    fields = {"command": "x", "url": "http://h", "server": "s", "tool": "t", "prompt": "p"}
    table = from_layers([layer({event: [{"hooks": [{"type": kind, **fields}]}]})], trusted=True)
    assert bool(Listeners(table).of(event)) is runs
    assert [problem.key for problem in table.problems] == ([] if runs else [f"hooks.{event}[0].hooks[0]"])


def test_reason_why_a_hook_does_not_count_is_told():
    layers = [layer({"PreToolUSe": _hooks("x"), "Stop": _hooks("y", **{"if": "Bash(ls)"})})]
    table = from_layers(layers, trusted=True)
    reasons = [table.policy.objection(entry) for entry in table.entries]
    assert reasons == ["unknown event PreToolUSe", "`if` needs a tool call, and Stop has none"]
    assert [problem.key for problem in table.problems] == [
        "hooks.PreToolUSe[0].hooks[0]",
        "hooks.Stop[0].hooks[0]",
    ]


def test_bad_matcher_is_named_once_with_file_and_key_and_the_rest_runs():
    hooks = {"PreToolUse": [*_hooks("a", "b", matcher="(", x=1), *_hooks("c", matcher="Bash")]}
    table = from_layers([layer(hooks)], trusted=True)
    assert _counting(table) == ["c"]
    (problem,) = table.problems
    assert (problem.file, problem.key) == ("/settings.json", "hooks.PreToolUse[0].matcher")
    assert problem.line is not None


def test_invalid_hook_of_a_settings_file_is_named_and_the_rest_runs(tmp_path: Any):
    home = tmp_path / "home"
    home.mkdir()
    good = {"type": "command", "command": "good"}
    hooks = {
        "Stop": [{"hooks": [{"type": "command"}, {"type": "shout"}, good]}, {"matcher": 5, "hooks": [good]}]
    }
    (home / "settings.json").write_bytes(msgspec.json.encode({"hooks": hooks}))
    config = load(
        cwd=str(tmp_path),
        env={"CLAUDE_CONFIG_DIR": str(home)},
        flag=None,
        setting_sources=None,
        managed_dir="/none",
    )
    table = from_layers(config.layers, trusted=True)
    assert "good" in _counting(table, "Stop")
    assert all(problem.file == str(home / "settings.json") for problem in config.problems)
    assert {"hooks.Stop[0].hooks[0]", "hooks.Stop[0].hooks[1]"} <= {
        problem.key for problem in config.problems
    }


def test_invalid_hook_of_a_plugin_is_named_and_the_rest_runs():
    values = {"Stop": [{"hooks": [{"type": "command"}, {"type": "command", "command": "good"}]}]}
    text = msgspec.json.format(msgspec.json.encode({"hooks": values})).decode()
    origin = Origin(source="plugin", owner="p", file="/p/hooks/hooks.json", plugin_root="/p")
    table = from_values(values, origin, text=text)
    assert _commands(table.entries) == ["good"]
    assert table.entries[0].origin.plugin_root == "/p"
    (problem,) = table.problems
    assert (problem.file, problem.key, problem.line) == ("/p/hooks/hooks.json", "hooks.Stop[0].hooks[0]", 6)


@pytest.mark.parametrize("values", [None, [], "x", 5, {"Stop": "x"}])
def test_nonsense_instead_of_hooks_is_no_hooks(values: object):
    assert from_values(values, Origin(source="skill", owner="s")).entries == ()


def test_stop_in_an_agent_is_the_stop_of_a_subagent_and_of_no_other():
    table = from_values({"Stop": _hooks("x")}, Origin(source="agent", owner="reviewer"), scope="a1")
    assert [entry.event for entry in table.entries] == ["SubagentStop"]
    assert _commands(choose(table.entries, "reviewer", "a1")) == ["x"]
    assert choose(table.entries, "reviewer", "a2") == choose(table.entries, "reviewer", None) == []


@pytest.mark.parametrize("source, once", [("skill", True), ("agent", False), ("userSettings", False)])
def test_only_skills_have_hooks_that_run_once(source: HookSource, once: bool):
    table = from_values({"Stop": _hooks("x", once=True)}, Origin(source=source, owner="s"))
    assert table.entries[0].once is once


def test_added_hooks_listen_until_they_are_taken_away():
    listeners = Listeners(from_layers([layer({"Stop": _hooks("set")})], trusted=True))
    skill = from_values({"Stop": _hooks("skill")}, Origin(source="skill", owner="s"))
    take_away = listeners.add(skill.entries)
    assert _commands(listeners.of("Stop")) == ["set", "skill"]
    take_away()
    take_away()
    assert _commands(listeners.of("Stop")) == ["set"]


def test_changed_settings_count_at_once_and_added_hooks_stay():
    listeners = Listeners(from_layers([layer({"Stop": _hooks("old")})], trusted=True))
    listeners.add(from_values({"Stop": _hooks("skill")}, Origin(source="skill", owner="s")).entries)
    listeners.replace(from_layers([layer({"Stop": _hooks("new")})], trusted=True))
    assert _commands(listeners.of("Stop")) == ["new", "skill"]
    listeners.replace(from_layers([layer({"Stop": _hooks("new")}, disableAllHooks=True)], trusted=True))
    assert listeners.of("Stop") == ()


def test_policy_of_nobody_objects_to_nothing():
    assert Policy().objection(from_host("Stop", CallbackHook(callback_id="1"))) is None
