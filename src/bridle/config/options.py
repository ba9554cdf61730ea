"""What a session is begun with, wherever: at a terminal, in print mode, by a program or by a leader."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

Positive = Annotated[int, Meta(ge=1)]
ModeName = Literal[
    "default", "manual", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto", "bubble"
]
OutputFormat = Literal["text", "json", "stream-json"]
InputFormat = Literal["text", "stream-json"]
TeammateMode = Literal["in-process", "auto", "tmux", "iterm2"]


EFFORTS = ("low", "medium", "high", "xhigh", "max", "ultracode")


class SessionOptions(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Flags, options of the SDK, the launch of a teammate and background jobs are all turned into this.

    A field has the name of its flag; None and the empty tuple mean that nothing was said.
    """

    prompt: str = ""
    """What is asked first."""
    draft: str = ""
    """What stands in the input of a terminal, ready to be sent."""
    draft_note: str = ""
    """What is said about it."""
    interactive: bool = False
    """A person is at the terminal."""
    job: str | None = None
    """The folder of the background job that the session is."""

    print_mode: bool = False
    output_format: OutputFormat | None = None
    input_format: InputFormat | None = None
    verbose: bool = False
    include_partial_messages: bool = False
    include_hook_events: bool = False
    replay_user_messages: bool = False
    forward_subagent_text: bool = False
    prompt_suggestions: bool = False
    json_schema: str | None = None
    await_initialize: bool = False
    session_mirror: bool = False
    ax_screen_reader: bool = False
    debug: bool = False
    debug_file: str | None = None

    continue_newest: bool = False
    resume: str | bool | None = None
    """The id of a conversation; True where the user picks one."""
    session_id: str | None = None
    fork_session: bool = False
    resume_session_at: str | None = None
    resume_drops_turn: str | None = None
    no_session_persistence: bool = False
    name: str | None = None
    worktree: str | bool | None = None
    """The name of the work tree to begin in; True for a new one."""

    model: str | None = None
    fallback_model: str | None = None
    advisor: str | None = None
    effort: str | None = None
    thinking: Literal["adaptive", "enabled", "disabled"] | None = None
    thinking_display: Literal["summarized", "omitted"] | None = None
    max_thinking_tokens: Annotated[int, Meta(ge=0)] | None = None
    betas: tuple[str, ...] = ()
    max_turns: Positive | None = None
    max_budget_usd: Annotated[float, Meta(gt=0)] | None = None
    max_total_tokens: Positive | None = None
    task_budget: Positive | None = None
    autocompact: str | None = None

    system_prompt: str | None = None
    system_prompt_file: str | None = None
    append_system_prompt: str | None = None
    append_system_prompt_file: str | None = None
    append_subagent_system_prompt: str | None = None
    exclude_dynamic_system_prompt_sections: bool = False

    settings: str | None = None
    setting_sources: str | None = None
    managed_settings: str | None = None
    add_dir: tuple[str, ...] = ()
    bare: bool = False
    trust: bool = False
    """What the folder brings counts in this run."""
    offline: bool = False
    """Nothing but the service of the model can be reached."""
    locked: bool = False
    """Texts for models come from `bridle.lock`; what differs from it and cannot come from it is refused."""
    restricted: bool = False
    """No tool that runs commands or code, unless `tools` names it."""
    safe_mode: bool = False
    init: bool = False
    init_only: bool = False
    maintenance: bool = False

    permission_mode: ModeName | None = None
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    dangerously_skip_permissions: bool = False
    allow_dangerously_skip_permissions: bool = False
    permission_prompt_tool: str | None = None
    permission_prompts: Literal["host", "none"] | None = None

    tools: tuple[str, ...] | None = None
    """The built-in tools to offer, each part a comma list; None for the usual ones."""
    agent: str | None = None
    agents: str | None = None
    teammate_mode: TeammateMode | None = None
    mcp_config: tuple[str, ...] = ()
    strict_mcp_config: bool = False
    channels: tuple[str, ...] = ()
    plugin_dir: tuple[str, ...] = ()
    plugin_dir_no_mcp: tuple[str, ...] = ()
    plugin_url: tuple[str, ...] = ()
    disable_slash_commands: bool = False
    ide: bool = False
    chrome: bool = False
    no_chrome: bool = False
    remote_control: str | bool | None = None
    """The name under which the session is shared; True for the usual one."""
    remote_control_session_name_prefix: str | None = None
    join_hub: bool = False
    """The session is shown at the hub that this machine has joined."""

    @property
    def resumed_id(self) -> str | None:
        """The conversation that is asked for by its id."""
        return self.resume if isinstance(self.resume, str) else None

    @property
    def continues(self) -> bool:
        """Whether an earlier conversation is asked for."""
        return self.continue_newest or self.resume is not None

    @property
    def has_person(self) -> bool:
        """Whether a person is at the terminal."""
        return not (self.print_mode or self.input_format is not None or self.output_format is not None)

    @property
    def is_hosted(self) -> bool:
        """Whether a program writes prompts while the session runs."""
        return self.input_format == "stream-json"

    @property
    def lasts(self) -> bool:
        """Whether more prompts can come after the first."""
        return self.interactive or self.is_hosted

    @property
    def is_attended(self) -> bool:
        """Whether questions are answered while the session runs."""
        return self.interactive or (
            self.permission_prompt_tool is not None and self.permission_prompts != "none"
        )

    @property
    def place(self) -> Literal["terminal", "host", "print"]:
        """Where the answers of the session are read."""
        if self.interactive:
            return "terminal"
        return "host" if self.output_format == "stream-json" else "print"


_NAMES = {
    "print": "print_mode",
    "continue": "continue_newest",
    "allowedTools": "allowed_tools",
    "disallowedTools": "disallowed_tools",
}


def field_of(flag: str) -> str:
    """The field that holds what a flag says."""
    return _NAMES.get(flag) or flag.replace("-", "_")
