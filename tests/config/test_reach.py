from pathlib import Path
from typing import Any

import pytest

from bridle.config.load import environment
from bridle.config.reach import permitted
from tests.config.folders import Folders

HELPERS = ["apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh", "otelHeadersHelper"]


def nested(key: str, value: Any) -> dict[str, Any]:
    for part in reversed(key.split(".")):
        value = {part: value}
    return value


REFUSED_IN_FOLDERS: list[tuple[str, Any]] = [
    *((helper, "sh evil.sh") for helper in HELPERS),
    ("permissions.defaultMode", "bypassPermissions"),
    ("permissions.defaultMode", "auto"),
    ("sandbox.enabled", False),
    ("sandbox.failIfUnavailable", False),
    ("sandbox.allowUnsandboxedCommands", True),
    ("sandbox.enableWeakerNestedSandbox", True),
    ("sandbox.filesystem.disabled", True),
    ("sandbox.network.httpProxyPort", 8080),
    ("sandbox.ripgrep", {"command": "evil"}),
    ("remoteControlAtStartup", True),
    ("disableRemoteControl", False),
    ("processWrapper", "evil"),
    ("autoMode", {"allow": ["everything"]}),
    ("forceLoginMethod", "console"),
    ("bridleModels", {"m": {"baseUrl": "http://evil", "keyEnv": "OPENAI_API_KEY"}}),
]


@pytest.mark.parametrize("source", ["projectSettings", "localSettings"])
@pytest.mark.parametrize(("key", "value"), REFUSED_IN_FOLDERS)
def test_a_folder_may_not_set_this_and_its_user_may(source: str, key: str, value: Any):
    """S41"""
    values = {**nested(key, value), "theme": "dark"}
    kept, faults = permitted(values, source)
    assert [path for path, _ in faults] == [tuple(key.split("."))]
    assert kept["theme"] == "dark"
    assert permitted(kept, source) == (kept, ())
    for own in ("userSettings", "flagSettings", "policySettings"):
        assert permitted(values, own) == (values, ())


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("permissions.defaultMode", "plan"),
        ("permissions.defaultMode", "acceptEdits"),
        ("sandbox.enabled", True),
        ("sandbox.allowUnsandboxedCommands", False),
        ("remoteControlAtStartup", False),
        ("disableRemoteControl", True),
        ("sandbox.excludedCommands", ["docker *"]),
    ],
)
def test_a_folder_may_be_stricter(key: str, value: Any):
    assert permitted(nested(key, value), "projectSettings") == (nested(key, value), ())


def test_a_folder_cannot_exclude_every_command_from_the_sandbox():
    """S41"""
    values = nested("sandbox.excludedCommands", ["*", "docker *", " : * "])
    kept, faults = permitted(values, "projectSettings")
    assert kept == nested("sandbox.excludedCommands", ["docker *"])
    assert [path[-1] for path, _ in faults] == [0, 2]


@pytest.mark.parametrize(
    "key", ["allowManagedHooksOnly", "strictKnownMarketplaces", "sandbox.bwrapPath", "claudeMd"]
)
def test_managed_keys_count_only_in_managed_settings(key: str):
    values = nested(key, "x")
    for source in ("userSettings", "projectSettings", "localSettings", "flagSettings"):
        _, faults = permitted(values, source)
        assert [path for path, _ in faults] == [tuple(key.split("."))]
    assert permitted(values, "policySettings") == (values, ())


@pytest.mark.parametrize(
    "key", ["skipDangerousModePermissionPrompt", "useAutoModeDuringPlan", "syncClaudeAiSkills"]
)
def test_some_keys_count_in_local_files_and_not_in_shared_ones(key: str):
    assert permitted({key: True}, "localSettings") == ({key: True}, ())
    assert permitted({key: True}, "projectSettings")[0] == {}


def test_what_is_left_out_is_told_with_its_line(tmp_path: Path):
    folders = Folders(tmp_path)
    folders.write(
        project={"model": "x", "apiKeyHelper": "evil", "env": {"OK": "1", "ANTHROPIC_BASE_URL": "http://e"}}
    )
    config = folders.load()
    assert config.settings.api_key_helper is None
    assert config.raw == {"model": "x", "env": {"OK": "1"}}
    file = str(folders.files["project"])
    assert [(each.file, each.key, each.line) for each in config.problems] == [
        (file, "apiKeyHelper", 3),
        (file, "env.ANTHROPIC_BASE_URL", 6),
    ]


NEVER = """
    ANTHROPIC_BASE_URL ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN ANTHROPIC_CUSTOM_HEADERS OPENAI_BASE_URL
    ANTHROPIC_BEDROCK_BASE_URL AWS_ENDPOINT_URL_BEDROCK AZURE_OPENAI_ENDPOINT OPENAI_API_KEY OPENAI_API_BASE
    HTTP_PROXY https_proxy ALL_PROXY NO_PROXY NODE_EXTRA_CA_CERTS SSL_CERT_FILE REQUESTS_CA_BUNDLE
    NODE_TLS_REJECT_UNAUTHORIZED CLAUDE_CODE_CLIENT_CERT CLAUDE_CODE_OAUTH_TOKEN AWS_BEARER_TOKEN_BEDROCK
    GOOGLE_APPLICATION_CREDENTIALS CLAUDE_CONFIG_DIR HOME OTEL_EXPORTER_OTLP_ENDPOINT OTEL_LOG_USER_PROMPTS
    CLAUDE_CODE_ENABLE_TELEMETRY CLAUDE_CODE_SKIP_BEDROCK_AUTH BRIDLE_ANYTHING
    CLAUDE_CODE_SUBPROCESS_ENV_SCRUB
    """
UNTRUSTED = """
    PATH LD_PRELOAD DYLD_INSERT_LIBRARIES PYTHONPATH PYTHONSTARTUP NODE_OPTIONS GIT_SSH_COMMAND GIT_DIR
    BASH_ENV ENV SHELL EDITOR VISUAL PAGER PERL5LIB RUBYOPT JAVA_TOOL_OPTIONS CLAUDE_CODE_SHELL
    CLAUDE_ENV_FILE CLAUDE_CODE_SHELL_PREFIX NPM_CONFIG_PREFIX RUSTC_WRAPPER GOFLAGS LESSOPEN BASH_FUNC_ls%%
    XDG_CONFIG_HOME
    """


@pytest.mark.parametrize("layer", ["project", "local"])
@pytest.mark.parametrize("trusted", [True, False])
def test_variables_that_a_folder_never_sets(tmp_path: Path, layer: str, trusted: bool):
    """S41"""
    folders = Folders(tmp_path)
    folders.write(**{layer: {"env": dict.fromkeys(NEVER.split(), "evil") | {"FINE": "1"}}})
    config = folders.load()
    assert environment(config, {}, trusted=trusted) == {"FINE": "1"}
    assert len(config.problems) == len(NEVER.split())


def test_variables_that_decide_which_code_runs_need_trust(tmp_path: Path):
    """S40"""
    folders = Folders(tmp_path)
    names = UNTRUSTED.split()
    folders.write(project={"env": dict.fromkeys(names, "x") | {"CI": "1", "LANG": "C"}})
    config = folders.load()
    assert environment(config, {"PATH": "/bin"}, trusted=False) == {"PATH": "/bin", "CI": "1", "LANG": "C"}
    assert environment(config, {}, trusted=True).keys() == {*names, "CI", "LANG"}
    assert config.problems == ()


def test_the_user_sets_any_variable(tmp_path: Path):
    folders = Folders(tmp_path)
    names = NEVER.split() + UNTRUSTED.split()
    folders.write(user={"env": dict.fromkeys(names, "mine")})
    config = folders.load()
    assert environment(config, {}, trusted=False) == dict.fromkeys(names, "mine")
    assert config.problems == ()


@pytest.mark.parametrize(("name", "value"), [("", "x"), ("A=B", "x"), ("A\0", "x"), ("A", "x\0y")])
def test_variables_that_no_process_can_have_are_left_out(name: str, value: str):
    kept, faults = permitted({"env": {name: value, "OK": "1"}}, "userSettings")
    assert kept == {"env": {"OK": "1"}}
    assert [path for path, _ in faults] == [("env", name)]
