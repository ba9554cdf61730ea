"""Environment variables that a project may set for the person who opens it: by lists of what it may."""

import re

_WORD = r"[A-Za-z0-9_.+-]{0,64}"
_ZONE = r"[A-Za-z0-9_+-]{1,32}(?:/[A-Za-z0-9_+-]{1,32}){0,2}"
_LOCALE = r"(?:C|POSIX|[a-z]{2,3}(?:_[A-Z]{2})?)(?:\.(?:UTF-8|utf8))?"
"""Other encodings change which bytes are blanks for a shell."""
_HARMLESS: dict[str, str] = {
    **dict.fromkeys(
        (
            "APP_ENV", "CI", "CLICOLOR", "CLICOLOR_FORCE", "FLASK_ENV", "FORCE_COLOR", "MIX_ENV", "NODE_ENV",
            "NO_COLOR", "RACK_ENV", "RAILS_ENV",
        ),
        _WORD,
    ),
    **dict.fromkeys(("LANG", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME"), _LOCALE),
    "TZ": _ZONE,
}  # fmt: skip
"""What counts from a folder that is not trusted, with the values that it may have."""

_LIMITS_NAMES = """
    API_FORCE_IDLE_TIMEOUT API_TIMEOUT_MS BASH_DEFAULT_TIMEOUT_MS BASH_MAX_OUTPUT_LENGTH BASH_MAX_TIMEOUT_MS
    CLAUDE_AUTOCOMPACT_PCT_OVERRIDE CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR
    CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD CLAUDE_CODE_AUTO_COMPACT_WINDOW
    CLAUDE_CODE_DISABLE_1M_CONTEXT CLAUDE_CODE_DISABLE_ADAPTIVE_THINKING CLAUDE_CODE_DISABLE_ADVISOR_TOOL
    CLAUDE_CODE_DISABLE_AUTO_MEMORY CLAUDE_CODE_DISABLE_BACKGROUND_TASKS CLAUDE_CODE_DISABLE_BUNDLED_SKILLS
    CLAUDE_CODE_DISABLE_CLAUDE_MDS CLAUDE_CODE_DISABLE_CRON CLAUDE_CODE_DISABLE_EXPLORE_PLAN_AGENTS
    CLAUDE_CODE_DISABLE_FILE_MENTIONS CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS
    CLAUDE_CODE_DISABLE_TERMINAL_TITLE CLAUDE_CODE_DISABLE_THINKING CLAUDE_CODE_DISABLE_WORKFLOWS
    CLAUDE_CODE_EFFORT_LEVEL CLAUDE_CODE_ENABLE_TASKS CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS
    CLAUDE_CODE_GLOB_HIDDEN CLAUDE_CODE_GLOB_NO_IGNORE CLAUDE_CODE_GLOB_TIMEOUT_SECONDS
    CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS CLAUDE_CODE_MAX_OUTPUT_TOKENS CLAUDE_CODE_MAX_SUBAGENT_SPAWN_DEPTH
    CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY CLAUDE_CODE_MAX_TURNS CLAUDE_CODE_MAX_WEB_SEARCHES_PER_SESSION
    CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS CLAUDE_CODE_SHELL CLAUDE_CODE_SHELL_PREFIX
    CLAUDE_CODE_STOP_HOOK_BLOCK_CAP CLAUDE_CODE_TASK_LIST_ID CLAUDE_CODE_WEBFETCH_CACHE_TTL_MS
    CLAUDE_ENV_FILE DISABLE_AUTO_COMPACT DISABLE_COMPACT DISABLE_INTERLEAVED_THINKING DISABLE_PROMPT_CACHING
    ENABLE_PROMPT_CACHING_1H ENABLE_TOOL_SEARCH FORCE_PROMPT_CACHING_5M MAX_MCP_OUTPUT_TOKENS
    MAX_THINKING_TOKENS MCP_CONNECTION_NONBLOCKING MCP_CONNECT_TIMEOUT_MS MCP_TIMEOUT MCP_TOOL_TIMEOUT
    TASK_MAX_OUTPUT_LENGTH
    """
_LIMITS = frozenset(_LIMITS_NAMES.split())
"""Variables of bridle itself that a trusted project may set."""
_OWN_PREFIXES = (
    "ANTHROPIC_", "BRIDLE_", "CLAUDE", "FALLBACK_FOR_", "FORCE_AUTOUPDATE", "FORCE_PROMPT", "MCP_",
)  # fmt: skip
"""How variables of bridle itself begin: of these only the listed ones are a project's to set."""
_NEVER_NAMES = """
    CURL_CA_BUNDLE DISABLE_AUTOUPDATER DISABLE_TELEMETRY ENABLE_ENHANCED_TELEMETRY_BETA
    ENABLE_EXPERIMENTAL_MCP_CLI ENABLE_IDE_INTEGRATION ENABLE_MCP_CLI_ENDPOINT
    ENABLE_PROMPT_CACHING_1H_BEDROCK HOME IS_SANDBOX NODE_EXTRA_CA_CERTS NODE_TLS_REJECT_UNAUTHORIZED
    NODE_USE_ENV_PROXY OPENSSL_CONF OPENSSL_ENGINES OPENSSL_MODULES SSLKEYLOGFILE USERPROFILE
    """
_NEVER = frozenset(_NEVER_NAMES.split())
_NEVER_PREFIXES = (
    "AWS_", "AZURE_", "BOTO_", "CLOUDSDK_", "CLOUD_ML_", "FOUNDRY_", "GCE_", "GCLOUD_", "GCP_", "GEMINI_",
    "GOOGLE_", "HF_", "HUGGINGFACE_", "LLAMA_CPP_", "LLAMACPP_", "LMSTUDIO_", "LM_STUDIO_", "OLLAMA_",
    "OPENAI_", "OPENROUTER_", "OTEL_", "SGLANG_", "SSL_CERT", "VERTEX_", "VLLM_",
)  # fmt: skip
_NEVER_SUFFIXES = (
    "_API_BASE", "_API_KEY", "_BASE_URL", "_CA_BUNDLE", "_CA_CERTS", "_CERT_DIR", "_CERT_FILE",
    "_ENDPOINT", "_PROXY", "_TOKEN",
)  # fmt: skip


_ACCOUNTS = (
    *_NEVER_PREFIXES, "ALIBABA_CLOUD_", "ALICLOUD_", "ANTHROPIC_", "ARM_", "BRIDLE_", "CF_", "CLAUDE",
    "CLOUDFLARE_", "DIGITALOCEAN_", "DO_", "FLY_", "HCLOUD_", "HEROKU_", "IBMCLOUD_", "KUBE", "LINODE_",
    "NETLIFY_", "OCI_", "OS_", "OVH_", "SCALEWAY_", "SCW_", "TENCENTCLOUD_", "TF_VAR_", "VERCEL_", "VULTR_",
    "YC_",
)  # fmt: skip
"""How the variables of model services and cloud accounts begin."""
_MODEL_KEYS_NAMES = """
    CEREBRAS_API_KEY COHERE_API_KEY DASHSCOPE_API_KEY DEEPINFRA_API_KEY DEEPSEEK_API_KEY FIREWORKS_API_KEY
    GROQ_API_KEY NVIDIA_API_KEY
    MINIMAX_API_KEY MISTRAL_API_KEY MOONSHOT_API_KEY PERPLEXITY_API_KEY REPLICATE_API_TOKEN TOGETHER_API_KEY
    XAI_API_KEY ZAI_API_KEY
    """
_MODEL_KEYS = frozenset(_MODEL_KEYS_NAMES.split())
_NO_CREDENTIALS = (
    "_ACCOUNT_ID", "_LOCATION", "_MODEL", "_PLUGIN_DATA", "_PLUGIN_ROOT", "_PROFILE", "_PROJECT",
    "_PROJECT_DIR", "_PROJECT_ID", "_REGION", "_SUBSCRIPTION_ID", "_TENANT_ID", "_ZONE",
)  # fmt: skip
"""How names among them end that say which, and not as whom."""


def never_from_project(name: str) -> bool:
    """Whether the variable decides where requests go, as whom, or what is sent to whom.

    Of those that are bridle's own a project sets listed ones alone; any other name is the project's business.
    """
    name = name.upper()
    if name in _LIMITS:
        return False
    return (
        name in _NEVER
        or name.startswith((*_OWN_PREFIXES, *_NEVER_PREFIXES))
        or name.endswith(_NEVER_SUFFIXES)
    )


def may_hold_credential(name: str) -> bool:
    """Whether the variable may hold a credential of a model service or of a cloud account."""
    name = name.upper()
    if not name.startswith(_ACCOUNTS) and name not in _MODEL_KEYS:
        return False
    return not name.endswith(_NO_CREDENTIALS)


def only_when_trusted(name: str, value: object) -> bool:
    """Whether the variable waits until the folder is trusted: all but a few, with plain values."""
    pattern = _HARMLESS.get(name)
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return pattern is None or re.fullmatch(pattern, text) is None
