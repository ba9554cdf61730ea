"""What a cloud has to know before it can answer: the questions, their checks, and the variables."""

import os
import re
from collections.abc import Callable, Mapping
from importlib.util import find_spec

import msgspec
from msgspec import Struct

from bridle.host.files import read_bytes
from bridle.types.errors import UsageError

_LARGEST = 1_000_000
_AWS_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-\d")
_GOOGLE_REGION = re.compile(r"global|us|eu|[a-z]+-[a-z]+\d+")
_PROJECT = re.compile(r"([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]")
_PLAIN = re.compile(r"[^\s\x00-\x1f\x7f]{1,500}")
_SECTION = re.compile(r"^\s*\[\s*(?:profile\s+)?([^\]]+?)\s*\]", re.MULTILINE)

Check = Callable[[str, Mapping[str, str]], str | None]
"""What is wrong with a value, in a sentence; None for one that can be used."""


class CloudQuestion(Struct, frozen=True, kw_only=True):
    """One thing that a cloud has to know."""

    variable: str
    title: str
    check: Check
    needed: bool = False
    usual: tuple[str, ...] = ()
    """Other variables that tell what the answer will be."""


class Cloud(Struct, frozen=True, kw_only=True):
    label: str
    switch: str
    """The variable that sends models there."""
    asked: Mapping[str, CloudQuestion]
    """By the word before the equals sign."""
    credentials: Callable[[Mapping[str, str]], str | None]
    """What is missing to be let in with these variables, as far as this machine can tell."""


def plan(cloud: Cloud, values: Mapping[str, str], env: Mapping[str, str]) -> dict[str, str]:
    """The variables for what was answered.

    Raises:
        UsageError: an answer is missing, or cannot be right.
    """
    found = {cloud.switch: "1"}
    for word, asked in cloud.asked.items():
        value = values.get(word, "").strip()
        if not value and asked.needed:
            raise UsageError(f"{cloud.label} needs {word}=…: {asked.title}.")
        if value and (fault := asked.check(value, env)) is not None:
            raise UsageError(f"{word}={value[:200]} is not valid: {fault}.")
        found |= {asked.variable: value} if value else {}
    return found


def suggested(cloud: Cloud, env: Mapping[str, str]) -> dict[str, str]:
    """The answers that the variables of today give."""
    names = {word: (asked.variable, *asked.usual) for word, asked in cloud.asked.items()}
    found = {word: next((env[name] for name in each if env.get(name)), "") for word, each in names.items()}
    return {word: value for word, value in found.items() if value}


def _region(pattern: re.Pattern[str], example: str) -> Check:
    def check(value: str, env: Mapping[str, str]) -> str | None:
        del env
        return None if pattern.fullmatch(value) else f"a region looks like {example}"

    return check


def _project(value: str, env: Mapping[str, str]) -> str | None:
    del env
    return (
        None
        if _PROJECT.fullmatch(value)
        else ("a project id has 6 to 30 lowercase letters, digits and hyphens")
    )


def _model(value: str, env: Mapping[str, str]) -> str | None:
    del env
    return None if _PLAIN.fullmatch(value) else "a model id has no spaces"


def _profile(value: str, env: Mapping[str, str]) -> str | None:
    files = [_aws_file(env, "AWS_CONFIG_FILE", "config")]
    files.append(_aws_file(env, "AWS_SHARED_CREDENTIALS_FILE", "credentials"))
    names = {name for file in files for name in _SECTION.findall(_text(file))}
    if value in names:
        return None
    there = ", ".join(sorted(names)[:10])
    return f"no such profile in {' or '.join(files)}" + (f" (profiles: {there})" if there else "")


def _key_file(value: str, env: Mapping[str, str]) -> str | None:
    del env
    if not os.path.isabs(value):
        return "give an absolute path"
    try:
        kind = msgspec.json.decode(_text(value), type=dict[str, object]).get("type")
    except msgspec.DecodeError:
        return "the file does not exist"
    return None if isinstance(kind, str) else "the file does not contain Google credentials"


def _aws_credentials(env: Mapping[str, str]) -> str | None:
    if env.get("AWS_BEARER_TOKEN_BEDROCK") or (
        env.get("AWS_ACCESS_KEY_ID") and env.get("AWS_SECRET_ACCESS_KEY")
    ):
        return None
    if find_spec("botocore") is None:
        return "profiles and SSO need pip install 'bridle[aws]'; else set AWS_BEARER_TOKEN_BEDROCK"
    if env.get("AWS_PROFILE") or os.path.exists(_aws_file(env, "AWS_CONFIG_FILE", "config")):
        return None
    return "no AWS credentials: set profile=…, AWS_BEARER_TOKEN_BEDROCK or AWS_ACCESS_KEY_ID"


def _google_credentials(env: Mapping[str, str]) -> str | None:
    if env.get("GOOGLE_OAUTH_ACCESS_TOKEN") or env.get("CLOUDSDK_AUTH_ACCESS_TOKEN"):
        return None
    if find_spec("google") is None or find_spec("google.auth") is None:
        return "credentials need pip install 'bridle[google]'; else set CLOUDSDK_AUTH_ACCESS_TOKEN"
    folder = env.get("CLOUDSDK_CONFIG") or os.path.join(_home(env), ".config", "gcloud")
    usual = os.path.join(folder, "application_default_credentials.json")
    if env.get("GOOGLE_APPLICATION_CREDENTIALS") or os.path.exists(usual):
        return None
    return "no Google credentials: run gcloud auth application-default login"


def _aws_file(env: Mapping[str, str], variable: str, name: str) -> str:
    return env.get(variable) or os.path.join(_home(env), ".aws", name)


def _home(env: Mapping[str, str]) -> str:
    return env.get("HOME") or os.path.expanduser("~")


def _text(path: str) -> str:
    try:
        return read_bytes(path, _LARGEST).decode(errors="replace")
    except OSError:
        return ""


_MODELS = {
    "model": CloudQuestion(variable="ANTHROPIC_MODEL", title="the model, if not the default", check=_model),
    "small": CloudQuestion(
        variable="ANTHROPIC_DEFAULT_HAIKU_MODEL", title="the small model, if not the default", check=_model
    ),
}
BEDROCK = Cloud(
    label="Amazon Bedrock",
    switch="CLAUDE_CODE_USE_BEDROCK",
    asked={
        "region": CloudQuestion(
            variable="AWS_REGION",
            title="the AWS region, such as us-east-1",
            check=_region(_AWS_REGION, "us-east-1"),
            needed=True,
            usual=("AWS_DEFAULT_REGION",),
        ),
        "profile": CloudQuestion(
            variable="AWS_PROFILE",
            title="the AWS profile; empty to use keys or a token from the environment",
            check=_profile,
        ),
        **_MODELS,
    },
    credentials=_aws_credentials,
)
VERTEX = Cloud(
    label="Google Vertex AI",
    switch="CLAUDE_CODE_USE_VERTEX",
    asked={
        "project": CloudQuestion(
            variable="ANTHROPIC_VERTEX_PROJECT_ID",
            title="the project id",
            check=_project,
            needed=True,
            usual=("GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT"),
        ),
        "region": CloudQuestion(
            variable="CLOUD_ML_REGION",
            title="the region, such as global or us-east5",
            check=_region(_GOOGLE_REGION, "global or us-east5"),
            needed=True,
        ),
        "credentials": CloudQuestion(
            variable="GOOGLE_APPLICATION_CREDENTIALS",
            title="a credentials file; empty to use gcloud's",
            check=_key_file,
        ),
        **_MODELS,
    },
    credentials=_google_credentials,
)
SWITCHES = (
    BEDROCK.switch,
    VERTEX.switch,
    "CLAUDE_CODE_USE_FOUNDRY",
    "CLAUDE_CODE_USE_MANTLE",
    "CLAUDE_CODE_USE_ANTHROPIC_AWS",
)
"""Of these one may be set."""
