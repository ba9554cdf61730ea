"""Settings of the shared surface that have no effect in bridle, each with the reason."""

from collections.abc import Iterator, Mapping
from typing import Any

from bridle.config.defaults import DEFAULTS
from bridle.config.problem import Fault

_NO_VENDOR = "bridle does not connect to claude.ai"
_NO_DESKTOP = "bridle has no desktop tools"
_NO_ARTIFACTS = "bridle makes no artifacts"
_NO_PUSH = "bridle sends no push notifications"
_NO_REMOTE_HOSTS = "bridle opens no sessions on other machines over SSH"

UNSUPPORTED: Mapping[str, str] = {
    "agentPushNotifEnabled": _NO_PUSH,
    "allowAllClaudeAiMcps": _NO_VENDOR,
    "autoUpdatesChannel": "bridle does not update itself: use the package manager that installed it",
    "browserExternalPageTools": _NO_DESKTOP,
    "disableArtifact": _NO_ARTIFACTS,
    "disableBrowserExternalNavigation": _NO_DESKTOP,
    "disableClaudeAiConnectors": _NO_VENDOR,
    "disableDeepLinkRegistration": "bridle registers no links",
    "disableMobileSimulatorTools": _NO_DESKTOP,
    "enableArtifact": _NO_ARTIFACTS,
    "fastMode": "bridle has no fast mode",
    "fastModePerSessionOptIn": "bridle has no fast mode",
    "feedbackSurveyRate": "bridle asks for no feedback",
    "forceRemoteSettingsRefresh": "managed settings come from files of this machine",
    "inputNeededNotifEnabled": _NO_PUSH,
    "otelHeadersHelper": "bridle sends no telemetry",
    "skipWebFetchPreflight": "bridle asks no one before it fetches a page",
    "sshConfigs": _NO_REMOTE_HOSTS,
    "sshHostAllowlist": _NO_REMOTE_HOSTS,
    "syncClaudeAiSkills": _NO_VENDOR,
    "voice": "bridle has no dictation",
    "voiceEnabled": "bridle has no dictation",
    "wslInheritsWindowsSettings": "bridle does not read the policies of Windows",
}
_NOTHING_TO_FORBID = ("disable", "skip", "browserExternalPageTools", "sshHostAllowlist")
"""Beginnings of keys that ask for less: what they forbid does not exist, so there is nothing to warn of."""


def without_effect(values: Mapping[str, Any]) -> Iterator[Fault]:
    """The keys that ask for something that does not happen."""
    for key, reason in UNSUPPORTED.items():
        value = values.get(key)
        if value in (None, False, DEFAULTS.get(key)) or key.startswith(_NOTHING_TO_FORBID):
            continue
        yield (key,), f"has no effect: {reason}"
