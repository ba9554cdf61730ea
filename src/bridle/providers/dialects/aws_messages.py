"""The Messages API behind Amazon's authentication: Bedrock Mantle, and Anthropic's own platform on AWS."""

from collections.abc import Mapping

from msgspec.structs import replace

from bridle.host.http.client import Request
from bridle.providers.credentials.aws import CredentialChain, region_of, signed
from bridle.providers.dialects.messages import MessagesDialect
from bridle.providers.facts import Model
from bridle.providers.http_provider import Reading, ServiceEndpoint, admitted_by_key, is_stale
from bridle.types.errors import ProviderError
from bridle.types.model import ModelRequest
from bridle.types.variables import is_on

_SERVICES: Mapping[str, str] = {"mantle": "bedrock-mantle", "anthropic-aws": "aws-external-anthropic"}
"""What Amazon calls them, in addresses and in signatures."""
_PATHS: Mapping[str, str] = {"mantle": "/anthropic"}
_UNGUARDED = {
    "mantle": "CLAUDE_CODE_SKIP_MANTLE_AUTH",
    "anthropic-aws": "CLAUDE_CODE_SKIP_ANTHROPIC_AWS_AUTH",
}
_NO_WORKSPACE = "Claude Platform on AWS needs a workspace: set ANTHROPIC_AWS_WORKSPACE_ID."


class AwsMessagesDialect:
    """Speaks the Messages API with a key, else with Amazon's signature."""

    def __init__(self) -> None:
        self._chain = CredentialChain()
        self._messages = MessagesDialect()

    def request(self, asked: ModelRequest, model: Model, place: ServiceEndpoint) -> Request:
        if place.vendor.name == "mantle" and not model.wire_name.startswith("anthropic."):
            model = replace(model, name=f"anthropic.{model.wire_name}")
        request = self._messages.request(asked, model, place)
        if place.vendor.name != "anthropic-aws":
            return request
        workspace = place.env.get("ANTHROPIC_AWS_WORKSPACE_ID", "").strip()
        if not workspace:
            raise ProviderError(_NO_WORKSPACE, kind="authentication_failed")
        return replace(request, headers=(*request.headers, ("anthropic-workspace-id", workspace)))

    async def admitted(self, request: Request, place: ServiceEndpoint) -> Request:
        vendor = place.vendor
        if place.key or is_on(place.env, vendor.unguarded_env):
            return admitted_by_key(request, place)
        credentials = await self._chain.find(place.env, place.commands)
        return signed(request, credentials, region=region_of(place.env), service=_SERVICES[vendor.name])

    async def recovered(self, error: ProviderError, asked: ModelRequest, place: ServiceEndpoint) -> bool:
        del asked
        stale = is_stale(error) and not place.key
        return stale and await self._chain.renewed(place.env, place.commands)

    def reading(self, asked: ModelRequest, place: ServiceEndpoint, request_id: str | None) -> Reading:
        return self._messages.reading(asked, place, request_id)


def base_url(name: str, env: Mapping[str, str]) -> str:
    """The address of the service in the region of the environment."""
    return f"https://{_SERVICES[name]}.{region_of(env)}.api.aws{_PATHS.get(name, '')}"
