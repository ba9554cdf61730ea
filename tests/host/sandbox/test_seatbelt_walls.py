from pathlib import Path

from bridle.host.sandbox.policy import Network, Policy
from bridle.host.sandbox.proxy import Gate, Proxy
from bridle.host.sandbox.seatbelt import PROGRAM, SeatbeltWalls
from bridle.types.question import Answer, NetworkQuestion, Refused


async def _refuse(question: NetworkQuestion) -> Answer:
    del question
    return Refused(message="no")


async def test_command_is_wrapped_in_a_profile_that_names_the_real_folders_and_ports(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    network = Network(mode="proxy", socks_port=4002)
    proxy = Proxy(Gate(network, _refuse))
    walls = SeatbeltWalls(
        Policy(network=network), roots=lambda: (str(tmp_path / "link"),), temporary=str(tmp_path), proxy=proxy
    )
    try:
        program, flag, text, *argv = walls.wrap(("ls", "-l"), cwd="/", keep=())
        assert (program, flag, argv) == (PROGRAM, "-p", ["ls", "-l"])
        assert f'(allow file-write* (subpath "{tmp_path}/real"))' in text
        assert walls.ports is not None
        assert walls.ports[1] == 4002
        assert f'(remote ip "localhost:{walls.ports[0]}")' in text
    finally:
        await walls.close()
        await proxy.close()
