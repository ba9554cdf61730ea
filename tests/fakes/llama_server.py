"""Runs llama.cpp's own server with a real model, as a process of its own: `llama_server.py file key`."""

import sys
from importlib import import_module
from typing import Any

WINDOW = 4096
TEMPLATE = """\
{%- if tools %}<|im_start|>system
Call a tool with <tool_call>. Tools:
<tools>{% for tool in tools %}
{{ tool | tojson }}{% endfor %}
</tools><|im_end|>
{% for _ in range(3) %}<|im_start|>user
Use the tool.<|im_end|>
<|im_start|>assistant
<tool_call>
{"name": "{{ tools[0].function.name }}", "arguments": {}}
</tool_call><|im_end|>
{% endfor %}{% endif %}{%- for message in messages %}<|im_start|>{{ message.role }}
{{ message.content if message.content is string else '' }}{%- if message.tool_calls %}
{%- for call in message.tool_calls %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{%- endfor %}{%- endif %}<|im_end|>
{% endfor %}{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
"""The model's own template knows no tools. With examples in this one even a model of 135M parameters begins
a call, and the server's grammar holds the rest of it to the schema of the tool."""


def main(path: str, key: str) -> None:
    engine: Any = import_module("xllamacpp")
    params = engine.CommonParams()
    params.model.path = path
    params.n_ctx = WINDOW
    params.n_parallel = 1
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.n_threads_http = 2
    params.api_keys = [key]
    params.warmup = False
    params.verbosity = -1
    params.chat_template = TEMPLATE
    server = engine.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
