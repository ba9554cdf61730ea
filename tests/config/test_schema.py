import msgspec

from bridle.config.explain import known_keys
from bridle.config.schema import GlobalConfig, Settings
from bridle.config.settings_table import DEFAULTS
from bridle.config.validate import check

KEYS = """
    advisorModel agent agentPushNotifEnabled allowAllClaudeAiMcps allowManagedHooksOnly
    allowManagedMcpServersOnly allowManagedPermissionRulesOnly allowedChannelPlugins allowedHttpHookUrls
    allowedMcpServers alwaysThinkingEnabled apiKeyHelper askUserQuestionTimeout attribution
    attribution.commit attribution.pr attribution.sessionUrl autoCompactEnabled autoCompactWindow
    autoMemoryDirectory autoMemoryEnabled autoMode autoMode.classifyAllShell autoScrollEnabled
    autoUpdatesChannel availableModels awaySummaryEnabled awsAuthRefresh awsCredentialExport
    axScreenReader blockedMarketplaces browserExternalPageTools channelsEnabled claudeMd claudeMdExcludes
    cleanupPeriodDays companyAnnouncements crossSessionInbound defaultShell deniedMcpServers dialogExpiry
    disableAgentView disableAllHooks disableArtifact disableAutoMode disableBrowserExternalNavigation
    disableBundledSkills disableClaudeAiConnectors disableCommandPluginSources disableDeepLinkRegistration
    disableMobileSimulatorTools disableRemoteControl disableSideloadFlags disableSkillShellExecution
    disableWorkflows disabledMcpjsonServers editorMode effortLevel emojiCompletionEnabled
    enableAllProjectMcpServers enableArtifact enableWorkflows enabledMcpjsonServers enabledPlugins
    enforceAvailableModels env extraKnownMarketplaces fallbackModel fastMode fastModePerSessionOptIn
    feedbackSurveyRate fileCheckpointingEnabled fileSuggestion footerLinksRegexes forceLoginGatewayUrl
    forceLoginMethod forceLoginOrgUUID forceRemoteSettingsRefresh gcpAuthRefresh hooks
    httpHookAllowedEnvVars includeCoAuthoredBy includeGitInstructions inputNeededNotifEnabled
    isolatePeerMachines keybindingFlavor language minimumVersion model modelOverrides otelHeadersHelper
    outputStyle parentSettingsBehavior permissions permissions.additionalDirectories permissions.allow
    permissions.ask permissions.defaultMode permissions.deny permissions.disableBypassPermissionsMode
    plansDirectory pluginConfigs pluginSuggestionMarketplaces pluginTrustMessage policyHelper
    policyHelper.path policyHelper.refreshIntervalMs policyHelper.timeoutMs prUrlTemplate
    preferredNotifChannel prefersReducedMotion processWrapper promptSuggestionEnabled
    remote.defaultEnvironmentId remoteControlAtStartup requiredMaximumVersion requiredMinimumVersion
    respectGitignore respondToBashCommands sandbox sandbox.allowAppleEvents
    sandbox.allowUnsandboxedCommands sandbox.autoAllowBashIfSandboxed sandbox.bwrapPath
    sandbox.credentials sandbox.credentials.allowPlaintextInject sandbox.credentials.awsPairs
    sandbox.credentials.envVars sandbox.credentials.files sandbox.credentials.sigv4
    sandbox.enableWeakerNestedSandbox sandbox.enableWeakerNetworkIsolation sandbox.enabled
    sandbox.excludedCommands sandbox.failIfUnavailable sandbox.filesystem
    sandbox.filesystem.allowManagedReadPathsOnly sandbox.filesystem.allowRead
    sandbox.filesystem.allowWrite sandbox.filesystem.denyRead sandbox.filesystem.denyWrite
    sandbox.filesystem.disabled sandbox.ignoreViolations sandbox.network
    sandbox.network.allowAllUnixSockets sandbox.network.allowLocalBinding sandbox.network.allowMachLookup
    sandbox.network.allowManagedDomainsOnly sandbox.network.allowUnixSockets
    sandbox.network.allowedDomains sandbox.network.deniedDomains sandbox.network.httpProxyPort
    sandbox.network.socksProxyPort sandbox.network.strictAllowlist sandbox.network.tlsTerminate
    sandbox.ripgrep sandbox.socatPath showClearContextOnPlanAccept showThinkingSummaries showTurnDuration
    skillListingBudgetFraction skillListingMaxDescChars skillOverrides skipAutoPermissionPrompt
    skipDangerousModePermissionPrompt skipWebFetchPreflight spellcheck spinnerTipsEnabled
    spinnerTipsOverride spinnerVerbs sshConfigs sshHostAllowlist statusLine strictKnownMarketplaces
    strictPluginOnlyCustomization subagentStatusLine switchModelsOnFlag syncClaudeAiSkills
    syntaxHighlightingDisabled teammateMode terminalProgressBarEnabled terminalTitleFromRename theme tui
    ultracode useAutoModeDuringPlan verbose viewMode vimInsertModeRemaps voice voiceEnabled
    wheelScrollAccelerationEnabled workflowKeywordTriggerEnabled workflowSizeGuideline worktree
    worktree.baseRef worktree.bgIsolation worktree.sparsePaths worktree.symlinkDirectories
    wslInheritsWindowsSettings
    """
GLOBAL_KEYS = """
    autoConnectIde autoInstallIdeExtension diffTool externalEditorContext permissionExplainerEnabled
    teammateDefaultModel
    """


def test_every_documented_key_is_known():
    assert set(KEYS.split()) - set(known_keys()) == set()
    fields = {field.encode_name for field in msgspec.structs.fields(GlobalConfig)}
    assert fields == set(GLOBAL_KEYS.split())


def test_every_key_is_optional():
    assert msgspec.convert({}, Settings) == Settings()


def test_every_default_belongs_to_a_known_key_and_is_a_value_that_the_key_takes():
    assert DEFAULTS.keys() - set(known_keys()) == set()
    for key, value in DEFAULTS.items():
        if not key.startswith("policyHelper."):
            nested = value
            for part in reversed(key.split(".")):
                nested = {part: nested}
            assert check(nested) == (nested, ())


def test_names_in_files_differ_from_names_in_code_only_in_their_spelling():
    values = {
        "apiKeyHelper": "a",
        "forceLoginOrgUUID": ["u"],
        "autoMode": {"soft_deny": ["x"], "classifyAllShell": True},
        "sandbox": {"network": {"allowedDomains": ["d"]}},
        "bridleModels": {"m": {"inputPrice": 1, "outputPrice": 2, "maxOutput": 3}},
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "c", "if": "Bash", "async": True}]}]},
    }
    settings = msgspec.convert(values, Settings)
    assert settings.api_key_helper == "a"
    assert settings.force_login_org_uuid == ("u",)
    assert settings.auto_mode is not None and settings.auto_mode.soft_deny == ("x",)
    assert settings.sandbox is not None and settings.sandbox.network is not None
    assert settings.sandbox.network.allowed_domains == ("d",)
    assert settings.bridle_models is not None
    model = settings.bridle_models["m"]
    assert not isinstance(model, str) and model.max_output == 3
    assert settings.hooks is not None
    hook = settings.hooks["Stop"][0].hooks[0]
    assert (hook.condition, msgspec.to_builtins(hook)["async"]) == ("Bash", True)
