import re
from pathlib import Path
from typing import Any

import pytest

import bridle
from bridle.config.load import environment
from bridle.config.source_limits import permitted
from bridle.config.variables import never_from_project
from bridle.providers.vendors import VENDORS
from tests.config.folders import Folders
from tests.tables import table

_READ = re.compile(
    r"""(?:env(?:iron)?(?:\.get\(|\[)|(?:is_on|is_off|whole_number)\([\w.]+, )\s*["']([A-Z][A-Z0-9_]+)["']"""
)
"""Where our code reads a variable of its own."""
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


@table("source", ["projectSettings", "localSettings"])
@table(("key", "value"), REFUSED_IN_FOLDERS)
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
    CLAUDE_CODE_SUBPROCESS_ENV_SCRUB AWS_REGION AWS_DEFAULT_REGION AWS_PROFILE CLOUD_ML_REGION
    VERTEX_REGION_CLAUDE_4_5_SONNET CLAUDE_CODE_USE_VERTEX CLAUDE_CODE_USE_BEDROCK CLAUDE_CODE_USE_FOUNDRY
    GOOGLE_OAUTH_ACCESS_TOKEN GOOGLE_CLOUD_PROJECT GCLOUD_PROJECT CLOUDSDK_CONFIG ANTHROPIC_MODEL
    ANTHROPIC_SMALL_FAST_MODEL ANTHROPIC_DEFAULT_SONNET_MODEL CLAUDE_CODE_SUBAGENT_MODEL GITHUB_TOKEN
    ANTHROPIC_SMALL_FAST_MODEL_AWS_REGION ANTHROPIC_VERTEX_PROJECT_ID NIX_SSL_CERT_FILE no_proxy OLLAMA_HOST
    ANTHROPIC_A_NAME_OF_TOMORROW CLAUDE_CODE_A_NAME_OF_TOMORROW aws_region Anthropic_Base_Url
    """
UNTRUSTED = """
    PATH LD_PRELOAD DYLD_INSERT_LIBRARIES PYTHONPATH PYTHONSTARTUP NODE_OPTIONS GIT_SSH_COMMAND GIT_DIR
    BASH_ENV ENV SHELL EDITOR VISUAL PAGER PERL5LIB RUBYOPT JAVA_TOOL_OPTIONS CLAUDE_CODE_SHELL
    CLAUDE_ENV_FILE CLAUDE_CODE_SHELL_PREFIX NPM_CONFIG_PREFIX RUSTC_WRAPPER GOFLAGS LESSOPEN BASH_FUNC_ls%%
    XDG_CONFIG_HOME TMUX DEBUG WAYLAND_DISPLAY DISPLAY MY_APP FINE BASH_MAX_TIMEOUT_MS
    """


@pytest.mark.parametrize("layer", ["project", "local"])
@pytest.mark.parametrize("trusted", [True, False])
def test_variables_that_a_folder_never_sets(tmp_path: Path, layer: str, trusted: bool):
    """S41"""
    folders = Folders(tmp_path)
    folders.write(**{layer: {"env": dict.fromkeys(NEVER.split(), "evil") | {"CI": "1"}}})
    config = folders.load()
    assert environment(config, {}, trusted=trusted) == {"CI": "1"}
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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LANG", "de_DE.ISO-8859-1"), ("LC_ALL", "ru_RU.KOI8-R"), ("TZ", ":/etc/passwd"),
        ("TZ", "../../x"), ("TZ", "/x"), ("CI", "$(x)"), ("NODE_ENV", "a b"), ("ci", "1"), ("CI", "x" * 100),
    ],
)  # fmt: skip
def test_harmless_variables_have_harmless_values(tmp_path: Path, name: str, value: str):
    """S40: the list for untrusted folders is one of names and values."""
    folders = Folders(tmp_path)
    folders.write(project={"env": {name: value}})
    assert environment(folders.load(), {}, trusted=False) == {}


def test_every_variable_that_brings_a_provider_its_address_or_key_is_the_users():
    """S41"""
    names = {
        name
        for vendor in VENDORS
        for name in (*vendor.url_env, *vendor.key_env, *vendor.token_env, vendor.unguarded_env)
        if name
    }
    assert [name for name in sorted(names) if not never_from_project(name)] == []


def test_no_variable_of_ours_is_a_projects_to_set_unless_it_is_listed():
    """S41: a new variable is out of reach until someone lists it."""
    words = ("MODEL", "URL", "KEY", "REGION", "PROJECT_ID", "CERT", "AUTH", "HEADER", "CODE_USE_", "PROXY")
    source = Path(bridle.__file__).parent
    found = {name for path in source.rglob("*.py") for name in _READ.findall(path.read_text("utf-8"))}
    open_ones = {name for name in found if not never_from_project(name)}
    assert [name for name in sorted(open_ones) if any(word in name for word in words)] == []
    assert len(found) > 100
    assert len(open_ones) < len(found) / 2


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
