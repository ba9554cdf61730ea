"""Every settings key that bridle knows; unknown keys live on in the raw values."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, convert, field

from bridle.config.hook_schema import HookTable
from bridle.config.sandbox.schema import Sandbox
from bridle.types.permission import Mode

Count = Annotated[int, Meta(ge=1)]
Share = Annotated[float, Meta(ge=0, le=1)]
Price = Annotated[float, Meta(ge=0)]
Patience = Literal["60s", "5m", "10m", "never"]
SECONDS: Mapping[str, float] = {"60s": 60.0, "5m": 300.0, "10m": 600.0}
"""What the words of `Patience` mean; `never` has no end."""
Disable = Literal["disable"]
NotificationChannel = Literal[
    "auto", "terminal_bell", "iterm2", "iterm2_with_bell", "kitty", "ghostty", "notifications_disabled",
]  # fmt: skip


class AutoMode(Struct, frozen=True, kw_only=True):
    environment: tuple[str, ...] | None = None
    allow: tuple[str, ...] | None = None
    soft_deny: tuple[str, ...] | None = None
    hard_deny: tuple[str, ...] | None = None
    classify_all_shell: bool | None = field(default=None, name="classifyAllShell")


class Permissions(Struct, frozen=True, kw_only=True, rename="camel"):
    allow: tuple[str, ...] | None = None
    ask: tuple[str, ...] | None = None
    deny: tuple[str, ...] | None = None
    additional_directories: tuple[str, ...] | None = None
    default_mode: Mode | None = None
    disable_bypass_permissions_mode: Disable | None = None
    disable_auto_mode: Disable | None = None


class FileSuggestion(Struct, frozen=True, kw_only=True, tag_field="type", tag="command"):
    command: str


class FooterLink(Struct, frozen=True, kw_only=True, tag_field="type", tag="regex"):
    pattern: str
    url: str
    label: str | None = None


class Spellcheck(Struct, frozen=True, kw_only=True):
    enabled: bool | None = None
    checker: Literal["auto", "aspell", "hunspell", "ispell"] | None = None
    language: str | None = None
    color: str | None = None


class SpinnerTips(Struct, frozen=True, kw_only=True, rename="camel"):
    tips: tuple[str, ...] | None = None
    exclude_default: bool | None = None


class SpinnerVerbs(Struct, frozen=True, kw_only=True):
    verbs: tuple[str, ...] | None = None
    mode: Literal["append", "replace"] | None = None


class StatusLine(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="command"):
    command: str
    padding: int | None = None
    refresh_interval: Annotated[float, Meta(ge=1)] | None = None
    hide_vim_mode_indicator: bool | None = None


class SubagentStatusLine(Struct, frozen=True, kw_only=True, tag_field="type", tag="command"):
    command: str


class Voice(Struct, frozen=True, kw_only=True, rename="camel"):
    enabled: bool | None = None
    auto_submit: bool | None = None
    mode: Literal["hold", "tap"] | None = None


VoiceEngine = Literal["auto", "endpoint", "pocketsphinx", "vosk", "whisper"]


class BridleVoice(Struct, frozen=True, kw_only=True, rename="camel"):
    engine: VoiceEngine | None = None
    endpoint: str | None = None
    model: str | None = None
    language: str | None = None
    recorder: tuple[str, ...] | None = None


class BridleAudit(Struct, frozen=True, kw_only=True, rename="camel"):
    enabled: bool | None = None
    key: Literal["file", "keyring"] | None = None
    witness: str | None = None


class Network(Struct, frozen=True, kw_only=True, rename="camel"):
    mode: Literal["online", "offline"] | None = None
    allow: tuple[str, ...] | None = None


class Attribution(Struct, frozen=True, kw_only=True, rename="camel"):
    commit: str | None = None
    pr: str | None = None
    session_url: bool | None = None


class ChannelPlugin(Struct, frozen=True, kw_only=True):
    marketplace: str
    plugin: str


class Marketplace(Struct, frozen=True, kw_only=True, rename="camel"):
    source: dict[str, Any]
    auto_update: bool | None = None


class PluginConfig(Struct, frozen=True, kw_only=True, rename="camel"):
    options: dict[str, Any] | None = None
    mcp_servers: dict[str, Any] | None = None


class McpServerMatch(Struct, frozen=True, kw_only=True, rename="camel"):
    """Names a server in one of three ways."""

    server_name: str | None = None
    server_command: tuple[str, ...] | None = None
    server_url: str | None = None


class Worktree(Struct, frozen=True, kw_only=True, rename="camel"):
    base_ref: Literal["fresh", "head"] | None = None
    symlink_directories: tuple[str, ...] | None = None
    sparse_paths: tuple[str, ...] | None = None
    bg_isolation: Literal["worktree", "none"] | None = None


class Remote(Struct, frozen=True, kw_only=True, rename="camel"):
    default_environment_id: str | None = None


class SshHost(Struct, frozen=True, kw_only=True, rename="camel"):
    id: str
    name: str
    ssh_host: str
    ssh_port: int | None = None
    ssh_identity_file: str | None = None


class PolicyHelper(Struct, frozen=True, kw_only=True, rename="camel"):
    path: str
    timeout_ms: Annotated[int, Meta(ge=1000)] | None = None
    refresh_interval_ms: Annotated[int, Meta(ge=0)] | None = None


class RemotePolicy(Struct, frozen=True, kw_only=True, rename="camel"):
    """Where managed settings come from over the network."""

    url: str
    key_variable: str | None = None
    timeout_ms: Annotated[int, Meta(ge=100)] | None = None


class ModelFacts(Struct, frozen=True, kw_only=True, rename="camel"):
    """What bridle cannot find out about a model; prices are USD per million tokens."""

    input_price: Price | None = None
    output_price: Price | None = None
    cache_read_price: Price | None = None
    cache_write_price: Price | None = None
    context_window: Count | None = None
    max_output: Count | None = None
    thinking: Literal["adaptive", "enabled", "none"] | None = None
    efforts: tuple[str, ...] | None = None
    capabilities: tuple[Literal["tools", "images", "pdf", "reasoning"], ...] | None = None
    dialect: Literal[
        "anthropic", "chat", "responses", "gemini", "bedrock", "vertex", "offline",
    ] | None = None  # fmt: skip
    name: str | None = None
    base_url: str | None = None
    key_env: str | None = None
    headers: dict[str, str] | None = None
    quirks: dict[str, Any] | None = None


class BudgetLimit(Struct, frozen=True, kw_only=True):
    """What may be used in one scope."""

    usd: Annotated[float, Meta(ge=0)] | None = None
    tokens: Count | None = None
    calls: Count | None = None
    seconds: Annotated[float, Meta(ge=0)] | None = None


class BridleBudgets(Struct, frozen=True, kw_only=True):
    run: BudgetLimit | None = None
    agent: BudgetLimit | None = None
    project: BudgetLimit | None = None
    day: BudgetLimit | None = None


class Settings(Struct, frozen=True, kw_only=True, rename="camel"):
    """All layers in one; None means that no layer sets it."""

    advisor_model: str | None = None
    always_thinking_enabled: bool | None = None
    available_models: tuple[str, ...] | None = None
    bridle_audit: BridleAudit | None = None
    bridle_background_work: bool | None = None
    bridle_features: dict[str, dict[str, Any]] | None = None
    bridle_budgets: BridleBudgets | None = None
    bridle_context_collapse: bool | None = None
    bridle_idle_compaction: bool | None = None
    bridle_inline_images: bool | None = None
    bridle_join_hub: bool | None = None
    bridle_models: dict[str, ModelFacts | str] | None = None
    bridle_quality_signals: bool | None = None
    bridle_record_usage: bool | None = None
    bridle_speculation: bool | None = None
    effort_level: Literal["low", "medium", "high", "xhigh"] | None = None
    enforce_available_models: bool | None = None
    fallback_model: tuple[str, ...] | None = None
    fast_mode: bool | None = None
    fast_mode_per_session_opt_in: bool | None = None
    language: str | None = None
    model: str | None = None
    model_overrides: dict[str, str] | None = None
    network: Network | None = None
    output_style: str | None = None
    show_thinking_summaries: bool | None = None
    switch_models_on_flag: bool | None = None
    ultracode: bool | None = None

    allow_managed_permission_rules_only: bool | None = None
    auto_mode: AutoMode | None = None
    disable_auto_mode: Disable | None = None
    permissions: Permissions | None = None
    sandbox: Sandbox | None = None
    skip_auto_permission_prompt: bool | None = None
    skip_dangerous_mode_permission_prompt: bool | None = None
    use_auto_mode_during_plan: bool | None = None

    auto_compact_enabled: bool | None = None
    auto_compact_window: Annotated[int, Meta(ge=100_000, le=1_000_000)] | None = None
    auto_memory_directory: str | None = None
    auto_memory_enabled: bool | None = None
    claude_md: str | None = None
    claude_md_excludes: tuple[str, ...] | None = None
    env: dict[str, str | int | float | bool] | None = None
    file_checkpointing_enabled: bool | None = None
    plans_directory: str | None = None
    skill_listing_budget_fraction: Share | None = None
    skill_listing_max_desc_chars: int | None = None

    ask_user_question_timeout: Patience | None = None
    auto_scroll_enabled: bool | None = None
    ax_screen_reader: bool | None = None
    company_announcements: tuple[str, ...] | None = None
    default_shell: Literal["bash", "powershell"] | None = None
    dialog_expiry: Patience | None = None
    editor_mode: Literal["normal", "vim"] | None = None
    emoji_completion_enabled: bool | None = None
    file_suggestion: FileSuggestion | None = None
    footer_links_regexes: tuple[FooterLink, ...] | None = None
    keybinding_flavor: Literal["classic", "readline"] | None = None
    prefers_reduced_motion: bool | None = None
    prompt_suggestion_enabled: bool | None = None
    respect_gitignore: bool | None = None
    respond_to_bash_commands: bool | None = None
    show_clear_context_on_plan_accept: bool | None = None
    show_turn_duration: bool | None = None
    spellcheck: Spellcheck | None = None
    spinner_tips_enabled: bool | None = None
    spinner_tips_override: SpinnerTips | None = None
    spinner_verbs: SpinnerVerbs | None = None
    status_line: StatusLine | None = None
    subagent_status_line: SubagentStatusLine | None = None
    syntax_highlighting_disabled: bool | None = None
    terminal_progress_bar_enabled: bool | None = None
    terminal_title_from_rename: bool | None = None
    theme: str | None = None
    tui: Literal["default", "fullscreen"] | None = None
    verbose: bool | None = None
    view_mode: Literal["default", "verbose", "focus"] | None = None
    vim_insert_mode_remaps: dict[str, str] | None = None
    bridle_chrome: bool | None = None
    bridle_voice: BridleVoice | None = None
    voice: Voice | None = None
    voice_enabled: bool | None = None
    wheel_scroll_acceleration_enabled: bool | None = None

    attribution: Attribution | None = None
    include_co_authored_by: bool | None = None
    include_git_instructions: bool | None = None
    pr_url_template: str | None = None

    allowed_http_hook_urls: tuple[str, ...] | None = None
    allow_managed_hooks_only: bool | None = None
    disable_all_hooks: bool | None = None
    disable_workflows: bool | None = None
    enable_workflows: bool | None = None
    hooks: HookTable | None = None
    http_hook_allowed_env_vars: tuple[str, ...] | None = None
    workflow_keyword_trigger_enabled: bool | None = None
    workflow_size_guideline: Literal["unrestricted", "small", "medium", "large"] | None = None

    disable_bundled_skills: bool | None = None
    disable_skill_shell_execution: bool | None = None
    skill_overrides: dict[str, Literal["on", "name-only", "user-invocable-only", "off"]] | None = None
    sync_claude_ai_skills: bool | None = None
    allowed_channel_plugins: tuple[ChannelPlugin, ...] | None = None
    blocked_marketplaces: tuple[dict[str, Any] | str, ...] | None = None
    channels_enabled: bool | None = None
    disable_command_plugin_sources: bool | None = None
    plugin_suggestion_marketplaces: tuple[str, ...] | None = None
    plugin_trust_message: str | None = None
    strict_known_marketplaces: tuple[dict[str, Any] | str, ...] | None = None
    strict_plugin_only_customization: (
        bool | tuple[Literal["skills", "agents", "hooks", "mcp"], ...] | None
    ) = None
    enabled_plugins: dict[str, bool] | None = None
    extra_known_marketplaces: dict[str, Marketplace] | None = None
    plugin_configs: dict[str, PluginConfig] | None = None

    allow_all_claude_ai_mcps: bool | None = None
    allowed_mcp_servers: tuple[McpServerMatch, ...] | None = None
    allow_managed_mcp_servers_only: bool | None = None
    denied_mcp_servers: tuple[McpServerMatch, ...] | None = None
    disable_claude_ai_connectors: bool | None = None
    disabled_mcpjson_servers: tuple[str, ...] | None = None
    enable_all_project_mcp_servers: bool | None = None
    enabled_mcpjson_servers: tuple[str, ...] | None = None

    agent: str | None = None
    cross_session_inbound: Literal["accept", "hold", "refuse"] | None = None
    disable_agent_view: bool | None = None
    isolate_peer_machines: bool | None = None
    process_wrapper: str | None = None
    teammate_mode: Literal["in-process", "auto", "tmux", "iterm2"] | None = None
    worktree: Worktree | None = None

    agent_push_notif_enabled: bool | None = None
    away_summary_enabled: bool | None = None
    disable_artifact: bool | None = None
    disable_deep_link_registration: Disable | None = None
    disable_remote_control: bool | None = None
    enable_artifact: bool | None = None
    input_needed_notif_enabled: bool | None = None
    preferred_notif_channel: NotificationChannel | None = None
    remote: Remote | None = None
    remote_control_at_startup: bool | None = None
    ssh_configs: tuple[SshHost, ...] | None = None
    ssh_host_allowlist: tuple[str, ...] | None = None

    api_key_helper: str | None = None
    aws_auth_refresh: str | None = None
    aws_credential_export: str | None = None
    force_login_method: Literal["claudeai", "console", "gateway"] | None = None
    force_login_gateway_url: str | None = None
    force_login_org_uuid: str | tuple[str, ...] | None = field(default=None, name="forceLoginOrgUUID")
    gcp_auth_refresh: str | None = None
    otel_headers_helper: str | None = None

    auto_updates_channel: Literal["latest", "stable"] | None = None
    minimum_version: str | None = None
    required_maximum_version: str | None = None
    required_minimum_version: str | None = None
    browser_external_page_tools: Literal["disabled"] | None = None
    disable_browser_external_navigation: bool | None = None
    disable_mobile_simulator_tools: bool | None = None

    cleanup_period_days: Count | None = None
    feedback_survey_rate: Share | None = None
    skip_web_fetch_preflight: bool | None = None
    disable_sideload_flags: bool | None = None
    force_remote_settings_refresh: bool | None = None
    parent_settings_behavior: Literal["first-wins", "merge"] | None = None
    policy_helper: PolicyHelper | None = None
    managed_sources_behavior: Literal["first-wins", "merge"] | None = None
    bridle_remote_policy: RemotePolicy | None = None
    bridle_allowed_providers: tuple[str, ...] | None = None
    wsl_inherits_windows_settings: bool | None = None


TYPES: Mapping[str, Any] = {
    key: Settings.__annotations__[name]
    for key, name in zip(Settings.__struct_encode_fields__, Settings.__struct_fields__, strict=True)
}
"""The type of every key."""
_NAMES = dict(zip(Settings.__struct_encode_fields__, Settings.__struct_fields__, strict=True))


def settings_of(values: Mapping[str, Any]) -> Settings:
    """The settings that checked values say.

    Key by key, so that msgspec learns the types of those that are there: the whole schema takes it longer
    than all else at the start of a session that has a settings file.
    """
    said = {_NAMES[key]: convert(value, TYPES[key]) for key, value in values.items() if key in TYPES}
    return Settings(**said)


class GlobalConfig(Struct, frozen=True, kw_only=True, rename="camel"):
    """Preferences that live in the state file instead of the settings files."""

    auto_connect_ide: bool | None = None
    auto_install_ide_extension: bool | None = None
    diff_tool: Literal["auto", "terminal"] | None = None
    external_editor_context: bool | None = None
    permission_explainer_enabled: bool | None = None
    teammate_default_model: str | None = None
