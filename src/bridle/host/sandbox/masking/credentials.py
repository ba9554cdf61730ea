"""Keeps the real credentials of a session, and what stands for them inside."""

import os
import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from bridle.host.aws_signature import AwsCredentials
from bridle.host.sandbox.domains import Rule, parse_rules
from bridle.host.sandbox.masking.settings import AwsPair, Mask, MaskedVariable
from bridle.host.sandbox.masking.tokens import TOKEN, fake_token


class Secret(Struct, frozen=True):
    """A real value, what stands for it inside, and where it may go."""

    placeholder: str
    value: str
    hosts: tuple[Rule, ...]

    def may_reach(self, host: str, port: int) -> bool:
        return any(rule.covers(host, port) for rule in self.hosts)


class CredentialStore:
    """Each value under each mask keeps one placeholder for the whole session."""

    def __init__(self, variables: Iterable[MaskedVariable] = (), pairs: Iterable[AwsPair] = ()) -> None:
        self._variables = {variable.name: variable.mask for variable in variables}
        self._pairs = tuple(pairs)
        self._secrets: dict[tuple[str, tuple[str, ...]], Secret] = {}
        self._credentials: dict[str, tuple[AwsCredentials, Secret]] = {}

    def cover(self, text: str, mask: Mask) -> str | None:
        """The text with placeholders for what is secret in it; None when nothing was found."""
        if mask.extract is None and mask.decode is None:
            kept = text.rstrip()
            return f"{self._placeholder(kept, mask)}{text[len(kept) :]}" if kept else None
        pattern = TOKEN if mask.extract is None else re.compile(mask.extract)
        found: dict[str, str] = {}
        pieces, end = [], 0
        for match in pattern.finditer(text):
            value = match[1]
            if not value or match.start(1) < end:
                continue
            fake = self._fake_token(value, mask) if mask.decode else self._placeholder(value, mask)
            if fake is None:
                continue
            found[value] = fake
            pieces += (text[end : match.start(1)], fake)
            end = match.end(1)
        if not found:
            return None
        covered = "".join((*pieces, text[end:]))
        if mask.duplicates:
            for value, fake in found.items():
                covered = covered.replace(value, fake)
        return covered

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """Variables as commands see them; one in which nothing was found stays unless its mask hides it."""
        shown = dict(env)
        for name, mask in self._variables.items():
            if not (value := env.get(name)):
                continue
            covered = self.cover(value, mask)
            if covered is not None:
                shown[name] = covered
            elif mask.no_match != "warn":
                del shown[name]
        self._pair(env, shown)
        return shown

    def finds_nothing_in(self, variable: MaskedVariable, env: Mapping[str, str]) -> bool:
        """Whether a variable is set and its mask does not fit it."""
        value = env.get(variable.name)
        return bool(value) and self.cover(value or "", variable.mask) is None

    def secrets_for(self, host: str, port: int) -> tuple[Secret, ...]:
        """What may be put into requests to a host."""
        return tuple(secret for secret in self._secrets.values() if secret.may_reach(host, port))

    def credentials_for(self, access_key: str, host: str, port: int) -> AwsCredentials | None:
        """The real pair behind a masked access key, where the host may have it."""
        known = self._credentials.get(access_key)
        return known[0] if known is not None and known[1].may_reach(host, port) else None

    def _placeholder(self, value: str, mask: Mask) -> str:
        key = (value, mask.hosts)
        if key not in self._secrets:
            self._secrets[key] = Secret(
                f"bridle_{os.urandom(16).hex()}", value, tuple(parse_rules(mask.hosts))
            )
        return self._secrets[key].placeholder

    def _fake_token(self, token: str, mask: Mask) -> str | None:
        key = (token, mask.hosts)
        if key not in self._secrets:
            fake = fake_token(
                token,
                claims=mask.claims,
                signature=os.urandom(24).hex(),
                cover=lambda value: self._placeholder(value, mask),
            )
            if fake is None:
                return None
            self._secrets[key] = Secret(fake, token, tuple(parse_rules(mask.hosts)))
        return self._secrets[key].placeholder

    def _pair(self, real: Mapping[str, str], shown: Mapping[str, str]) -> None:
        for pair in self._pairs:
            access, secret = real.get(pair.access_key), real.get(pair.secret_key)
            mask = self._variables.get(pair.access_key)
            if not access or not secret or mask is None:
                continue
            token = real.get(pair.session_token) if pair.session_token else None
            known = self._secrets[(access.rstrip(), mask.hosts)]
            credentials = AwsCredentials(access.strip(), secret.strip(), token.strip() if token else None)
            self._credentials[shown[pair.access_key].rstrip()] = (credentials, known)
