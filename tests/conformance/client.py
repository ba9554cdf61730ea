"""The client that the official conformance suite runs: `client.py <url>`, the scenario in a variable.

It is bridle's own client with a person who agrees to everything and a browser that follows one redirect.
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.features.skills.served import served_skills
from bridle.host.http.client import HttpClient, Request
from bridle.mcp.auth.authorizers import Authorizers
from bridle.mcp.auth.browser_login import BrowserLogin
from bridle.mcp.auth.saved_logins import SavedLogins
from bridle.mcp.auth.token_store import FileTokenStore
from bridle.mcp.auth.xaa import Provider
from bridle.mcp.client_requests import RequestContext
from bridle.mcp.servers import Servers, ServersContext
from bridle.mcp.timeouts import Timeouts
from bridle.types.errors import McpError, ToolError
from bridle.types.question import Answer, ElicitationQuestion, Permitted, Question, Supplied
from bridle.types.services.mcp import HttpServer, OAuthSettings, Server

_CIMD = "https://conformance-test.local/client-metadata.json"
_NAME = "conformance"
_GIVEN = {
    "client_secret": "MCP_CLIENT_SECRET",
    "private_key_pem": "MCP_CLIENT_PRIVATE_KEY",
    "valid_jwt": "MCP_WORKLOAD_TOKEN",
}
"""What a scenario gives the client, and the variable in which bridle takes it."""
_ONLY_LISTED = ("json-schema-ref-no-deref",)
_NOT_CALLED = ("json_schema_2020_12_tool",)
_NOT_LOADED = ("sep-2640-client-no-prefetch",)
"""Where nobody uses the skills that are announced."""


async def main(url: str) -> int:
    """Run one scenario; the exit code says whether the server could be used to the end."""
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    context: dict[str, Any] = msgspec.json.decode(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    with tempfile.TemporaryDirectory() as home:
        env = {
            **os.environ,
            "CLAUDE_CONFIG_DIR": home,
            "MCP_OAUTH_CLIENT_METADATA_URL": _CIMD,
            **{name: context[key] for key, name in _GIVEN.items() if key in context},
        }
        server = Server(name=_NAME, config=_config(url, scenario, context), scope="user")
        logins = SavedLogins(FileTokenStore(os.path.join(home, ".credentials.json")))
        provider = _provider(context, logins)
        authorizers = Authorizers(
            env, logins=logins, visit=BrowserLogin(open_page=_browse(env)), provider=provider
        )
        around = ServersContext(
            cwd=home,
            env=env,
            requests=RequestContext(roots=lambda: (home,), ask=_agree, sample=_sample),
            read=lambda name, raw: server,
            authorizer=authorizers,
        )
        timing = Timeouts(connect=20.0, call=20.0, first_turn=20.0)
        servers = Servers([server], around, timing)
        try:
            await servers.settle()
            return await _use(servers, scenario, context)
        finally:
            await servers.close()


async def _use(servers: Servers, scenario: str, context: Mapping[str, Any]) -> int:
    (state,) = servers.status()
    print(f"{scenario}: {state.status} {state.protocol} {state.error or ''}")
    if state.status != "connected":
        return 1
    schemas = servers.input_schemas(_NAME)
    calls: list[Any] = context.get("toolCalls") or [
        {"name": tool.name, "arguments": _arguments(tool.name, schemas)} for tool in state.tools
    ]
    for call in calls if scenario not in _ONLY_LISTED else ():
        if call["name"] in _NOT_CALLED:
            continue
        result = await servers.call(_NAME, call["name"], call.get("arguments") or {})
        print(f"{call['name']}: {msgspec.json.encode(result).decode()[:500]}")
    if scenario not in _NOT_LOADED:
        await _load_skills(servers)
    return 0


async def _load_skills(servers: Servers) -> None:
    """Use every skill with its files, as the model would; one that is not as announced is given up."""
    for skill, served in zip(served_skills(servers), servers.skills(), strict=True):
        try:
            await skill.load()
            for file in served.files:
                await servers.read_resource(served.server, file)
        except (ToolError, McpError) as error:
            print(f"{skill.name}: {error}")


def _config(url: str, scenario: str, context: Mapping[str, Any]) -> HttpServer:
    machine = scenario.startswith("auth/client-credentials")
    oauth = OAuthSettings(
        client_id=context.get("client_id"),
        xaa="idp_id_token" in context or None,
        grant_type="client_credentials" if machine else "jwt_bearer" if "valid_jwt" in context else None,
    )
    return HttpServer(url=url, oauth=oauth)


def _provider(context: Mapping[str, Any], logins: SavedLogins) -> Provider | None:
    if "idp_id_token" not in context:
        return None
    logins.save_id_token(context["idp_issuer"], context["idp_id_token"], 4e9)
    return Provider(
        issuer=context["idp_issuer"],
        client_id=context["idp_client_id"],
        token_endpoint=context["idp_token_endpoint"],
    )


def _arguments(tool: str, schemas: Mapping[str, Any]) -> dict[str, Any]:
    match tool:
        case "add_numbers":
            return {"a": 5, "b": 3}
        case "json_schema_echo":
            return {"schema": next(schema for name, schema in schemas.items() if name != tool)}
        case _:
            return {}


def _browse(env: Mapping[str, str]) -> Any:
    """A browser whose person is logged in already: the page sends it straight back."""

    async def browse(url: str) -> None:
        client = HttpClient(env)
        try:
            async with client.send(Request("GET", url)) as response:
                await response.read()
                target = response.headers.get("location")
            if target is not None:
                async with client.send(Request("GET", target)) as response:
                    await response.read()
        finally:
            await client.close()

    return browse


async def _agree(question: Question) -> Answer:
    return Supplied(action="accept", content={}) if isinstance(question, ElicitationQuestion) else Permitted()


async def _sample(server: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
    del server, params
    content = {"type": "text", "text": "A word from the model."}
    return {"role": "assistant", "content": content, "model": "scripted", "stopReason": "endTurn"}


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1])))
