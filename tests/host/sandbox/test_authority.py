"""The user's own authority, and what commands are told to believe."""

import subprocess
from pathlib import Path

import pytest

from bridle.host.sandbox.authority import load_authority, make_authority, write_roots
from bridle.types.errors import ConfigError


def _openssl(folder: Path, name: str) -> tuple[str, str]:
    certificate, key = str(folder / f"{name}.pem"), str(folder / f"{name}.key")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "9", "-subj", f"/CN={name}",
         "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    return certificate, key


def test_own_authority_vouches_for_hosts_and_wrong_files_are_told(tmp_path: Path):
    one, other = _openssl(tmp_path, "one"), _openssl(tmp_path, "other")
    authority = load_authority(*one)
    assert authority.pem == Path(one[0]).read_text()
    assert authority.context_for("a.example") is authority.context_for("a.example")
    for wrong in ((one[0], other[1]), (one[1], one[0]), (str(tmp_path / "none"), one[1])):
        with pytest.raises(ConfigError):
            load_authority(*wrong)


def test_commands_believe_the_roots_of_the_machine_of_the_house_and_ours(tmp_path: Path):
    house = tmp_path / "house.pem"
    house.write_text(make_authority().pem)
    ours = make_authority()
    path = tmp_path / "roots.pem"
    write_roots(ours, str(path), {"NODE_EXTRA_CA_CERTS": str(house), "SSL_CERT_FILE": "/missing"})
    text = path.read_text()
    assert text.startswith(ours.pem) and house.read_text() in text
    assert "PRIVATE KEY" not in text
