"""`bridle gateway`: serve models to a team."""

import secrets
from collections.abc import Mapping

from bridle.cli.say import say
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.frontends.gateway.config import hash_of, load_gateway

_FILE = "gateway.yaml"


def run_gateway(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Serve until a signal ends it, check the file, or print a key."""
    if given.on("new-key"):
        key = f"bg-{secrets.token_urlsafe(32)}"
        return say(f"key for the user:  {key}\nkey in the file:   sha256:{hash_of(key)}\n")
    path = given.text("config") or _FILE
    config = load_gateway(path, env)
    served, users = len(config.models), len(config.users)
    if given.on("check"):
        return say(f"{path} is valid: {served} models, {users} users.\n")
    from bridle.frontends.gateway.serve import serve

    words = f"Serving {served} models to {users} users on http://{config.listen}. Stop it with ctrl+c.\n"
    serve(config, env, ready=lambda: say(words))
    return 0
