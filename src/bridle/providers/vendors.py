"""Who serves models: one row for each, with its address, its key and how it differs from its dialect."""

from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.providers.vendor import HOME, Quirks, Vendor
from bridle.types.errors import ConfigError


def find(name: str) -> Vendor | None:
    return _BY_NAME.get(name)


def altered(vendor: Vendor, quirks: Mapping[str, Any]) -> Vendor:
    """The vendor with the quirks that a user has set.

    Raises:
        ConfigError: a quirk has an unknown name or an impossible value.
    """
    try:
        changed = msgspec.convert({**msgspec.to_builtins(vendor.quirks), **quirks}, Quirks)
    except msgspec.ValidationError as error:
        raise ConfigError(f"Invalid quirks for {vendor.name} in bridleModels: {error}.") from error
    return msgspec.structs.replace(vendor, quirks=changed)


def _chat(name: str, label: str, url: str, key: str, **more: Any) -> Vendor:
    prefix = name.upper().replace("-", "_")
    facts: dict[str, Any] = {"url_env": (f"{prefix}_BASE_URL",), "key_env": (key,)}
    return Vendor(name=name, label=label, dialect="chat", url=url, **(facts | more))


def _local(name: str, label: str, url: str, variable: str, **more: Any) -> Vendor:
    """A server on the user's own machine: no key is needed, and no price is paid."""
    facts: dict[str, Any] = {
        "url_env": (variable,),
        "key_env": (f"{name.upper()}_API_KEY",),
        "root": "/v1",
        "key_needed": False,
        "window": 32_768,
        "output": 8_192,
        "patience": 600.0,
    }
    return Vendor(name=name, label=label, dialect="chat", url=url, **(facts | more))


_OPENAI = Quirks(
    limit_field="max_completion_tokens",
    system_role="developer",
    documents=True,
    switch="effort",
    cache_key=True,
)

VENDORS: tuple[Vendor, ...] = (
    HOME,
    Vendor(
        name="openai",
        label="OpenAI",
        dialect="responses",
        dialect_elsewhere="chat",
        url="https://api.openai.com/v1",
        url_env=("OPENAI_BASE_URL",),
        key_env=("OPENAI_API_KEY",),
        small="gpt-5-mini",
        quirks=_OPENAI,
    ),
    Vendor(
        name="azure",
        label="Azure OpenAI",
        dialect="chat",
        url_env=("AZURE_OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT"),
        root="/openai/v1",
        key_env=("AZURE_OPENAI_API_KEY",),
        key_header="api-key",
        quirks=_OPENAI,
    ),
    Vendor(
        name="foundry",
        label="Microsoft Foundry",
        dialect="anthropic",
        url_env=("ANTHROPIC_FOUNDRY_BASE_URL",),
        root="/anthropic",
        key_env=("ANTHROPIC_FOUNDRY_API_KEY",),
        key_header="x-api-key",
        token_env=("ANTHROPIC_FOUNDRY_AUTH_TOKEN",),
        unguarded_env="CLAUDE_CODE_SKIP_FOUNDRY_AUTH",
        serves_anthropic=True,
    ),
    Vendor(
        name="bedrock",
        label="Amazon Bedrock",
        dialect="bedrock",
        url_env=("ANTHROPIC_BEDROCK_BASE_URL", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"),
        key_env=("AWS_BEARER_TOKEN_BEDROCK",),
        unguarded_env="CLAUDE_CODE_SKIP_BEDROCK_AUTH",
        serves_anthropic=True,
    ),
    Vendor(
        name="mantle",
        label="Amazon Bedrock Mantle",
        dialect="aws-messages",
        url_env=("ANTHROPIC_BEDROCK_MANTLE_BASE_URL",),
        root="/anthropic",
        key_env=("AWS_BEARER_TOKEN_BEDROCK",),
        unguarded_env="CLAUDE_CODE_SKIP_MANTLE_AUTH",
        serves_anthropic=True,
    ),
    Vendor(
        name="anthropic-aws",
        label="Claude Platform on AWS",
        dialect="aws-messages",
        url_env=("ANTHROPIC_AWS_BASE_URL",),
        key_env=("ANTHROPIC_AWS_API_KEY",),
        key_header="x-api-key",
        unguarded_env="CLAUDE_CODE_SKIP_ANTHROPIC_AWS_AUTH",
        serves_anthropic=True,
        quirks=Quirks(experimental=True),
    ),
    Vendor(
        name="vertex",
        label="Google Vertex AI",
        dialect="vertex",
        url_env=("ANTHROPIC_VERTEX_BASE_URL",),
        unguarded_env="CLAUDE_CODE_SKIP_VERTEX_AUTH",
        serves_anthropic=True,
        small="gemini-2.5-flash",
    ),
    Vendor(
        name="gemini",
        label="Google Gemini",
        dialect="gemini",
        url="https://generativelanguage.googleapis.com/v1beta",
        url_env=("GOOGLE_GEMINI_BASE_URL",),
        key_env=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        key_header="x-goog-api-key",
        small="gemini-2.5-flash",
        window=1_048_576,
        output=65_536,
        quirks=Quirks(documents=True),
    ),
    _chat(
        "openrouter",
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        headers=(("x-title", "bridle"),),
        quirks=Quirks(documents=True, thoughts="reasoning_details", switch="nested", cache_marks=True),
    ),
    _chat(
        "groq",
        "Groq",
        "https://api.groq.com/openai/v1",
        "GROQ_API_KEY",
        small="llama-3.1-8b-instant",
        quirks=Quirks(limit_field="max_completion_tokens", switch="effort"),
    ),
    _chat(
        "mistral",
        "Mistral",
        "https://api.mistral.ai/v1",
        "MISTRAL_API_KEY",
        small="mistral-small-latest",
        quirks=Quirks(stream_usage=False, short_ids=True, user_after_result=False),
    ),
    _chat(
        "deepseek",
        "DeepSeek",
        "https://api.deepseek.com",
        "DEEPSEEK_API_KEY",
        small="deepseek-v4-flash",
        quirks=Quirks(images=False, thoughts="reasoning_content", thoughts_required=True, switch="type"),
    ),
    _chat(
        "xai",
        "xAI",
        "https://api.x.ai/v1",
        "XAI_API_KEY",
        small="grok-4-1-fast-non-reasoning",
        quirks=Quirks(limit_field="max_completion_tokens"),
    ),
    _chat("together", "Together AI", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    _chat(
        "fireworks",
        "Fireworks AI",
        "https://api.fireworks.ai/inference/v1",
        "FIREWORKS_API_KEY",
        quirks=Quirks(thoughts="reasoning_content"),
    ),
    _chat(
        "cerebras",
        "Cerebras",
        "https://api.cerebras.ai/v1",
        "CEREBRAS_API_KEY",
        small="llama3.1-8b",
        quirks=Quirks(limit_field="max_completion_tokens", images=False),
    ),
    _chat(
        "moonshot",
        "Moonshot AI",
        "https://api.moonshot.ai/v1",
        "MOONSHOT_API_KEY",
        quirks=Quirks(thoughts="reasoning_content", thoughts_required=True, switch="type"),
    ),
    _chat(
        "zai",
        "Z.ai",
        "https://api.z.ai/api/paas/v4",
        "ZAI_API_KEY",
        small="glm-4.5-air",
        quirks=Quirks(thoughts="reasoning_content", switch="type"),
    ),
    _chat(
        "nvidia",
        "NVIDIA NIM",
        "https://integrate.api.nvidia.com/v1",
        "NVIDIA_API_KEY",
        quirks=Quirks(images=False),
    ),
    _chat("huggingface", "Hugging Face", "https://router.huggingface.co/v1", "HF_TOKEN"),
    _chat("deepinfra", "DeepInfra", "https://api.deepinfra.com/v1/openai", "DEEPINFRA_API_KEY"),
    _chat(
        "dashscope",
        "Alibaba DashScope",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "DASHSCOPE_API_KEY",
    ),
    Vendor(
        name="minimax",
        label="MiniMax",
        dialect="anthropic",
        url="https://api.minimax.io/anthropic",
        url_env=("MINIMAX_BASE_URL",),
        key_env=("MINIMAX_API_KEY",),
        quirks=Quirks(images=False),
    ),
    Vendor(
        name="zai-anthropic",
        label="Z.ai (Messages API)",
        dialect="anthropic",
        url="https://api.z.ai/api/anthropic",
        key_env=("ZAI_API_KEY",),
        quirks=Quirks(images=False),
    ),
    Vendor(
        name="deepseek-anthropic",
        label="DeepSeek (Messages API)",
        dialect="anthropic",
        url="https://api.deepseek.com/anthropic",
        key_env=("DEEPSEEK_API_KEY",),
        key_header="x-api-key",
        quirks=Quirks(images=False),
    ),
    Vendor(
        name="moonshot-anthropic",
        label="Moonshot AI (Messages API)",
        dialect="anthropic",
        url="https://api.moonshot.ai/anthropic",
        key_env=("MOONSHOT_API_KEY",),
    ),
    _local(
        "ollama",
        "Ollama",
        "http://127.0.0.1:11434/v1",
        "OLLAMA_HOST",
        quirks=Quirks(switch="effort", thoughts="reasoning", recover_calls=True),
    ),
    _local(
        "llamacpp",
        "llama.cpp",
        "http://127.0.0.1:8080/v1",
        "LLAMACPP_BASE_URL",
        quirks=Quirks(switch="template", thoughts="reasoning_content", recover_calls=True),
    ),
    _local(
        "lmstudio",
        "LM Studio",
        "http://127.0.0.1:1234/v1",
        "LMSTUDIO_BASE_URL",
        quirks=Quirks(recover_calls=True),
    ),
    _local(
        "vllm",
        "vLLM",
        "http://127.0.0.1:8000/v1",
        "VLLM_BASE_URL",
        quirks=Quirks(switch="template", thoughts="reasoning_content", recover_calls=True),
    ),
    _local(
        "sglang",
        "SGLang",
        "http://127.0.0.1:30000/v1",
        "SGLANG_BASE_URL",
        quirks=Quirks(switch="template", thoughts="reasoning_content", recover_calls=True),
    ),
    Vendor(
        name="local",
        label="the model in this process",
        dialect="chat",
        key_needed=False,
        window=8_192,
        output=2_048,
        patience=600.0,
        quirks=Quirks(switch="template", images=False, recover_calls=True),
    ),
    Vendor(name="custom", label="the service", dialect="chat", key_needed=False, patience=600.0),
)
"""`custom` is what an entry of `bridleModels` with an address of its own begins with."""
_BY_NAME: Mapping[str, Vendor] = {vendor.name: vendor for vendor in VENDORS}
