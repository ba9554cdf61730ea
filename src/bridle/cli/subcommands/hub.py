"""The subcommand of the hub."""

from bridle.cli.flags import SUBCOMMANDS
from bridle.cli.subcommands.values import Argument, Subcommand, number, option, repeated, switch

_DATA = option("--data", value="folder", help="where the hub keeps its data")
_NAME = option("--name", value="text", help="its name in lists")
_FOLDER = repeated("--folder", value="folder", help="a trusted folder in which the hub may start sessions")
_CAPACITY = number(
    "--capacity", value="count", help="how many sessions may run at once", default="32", most=1_000
)
_FILE = Argument("file", "the file of the backup", completes="file")

HUB = Subcommand(
    "hub",
    SUBCOMMANDS["hub"],
    details="""\
One page for the sessions of all your machines, on a server of your own. Machines only connect out; what a
machine allows is decided there. Needs the packages of bridle[hub]. See `bridle docs hub`.""",
    commands=(
        Subcommand(
            "serve", "Run the hub", "hub.serving:serve_hub",
            options=(
                option("--listen", value="host:port", help="where to listen (127.0.0.1:8790)"),
                repeated("--host", value="name", help="one more name by which browsers reach the hub"),
                option("--tls-cert", value="file", help="the certificate chain, for https"),
                option("--tls-key", value="file", help="the key of the certificate"),
                switch("--behind-https", help="browsers come by https through a proxy"),
                _DATA,
            ),
            examples=(
                "bridle hub serve",
                "bridle hub serve --listen 0.0.0.0:8790 --host hub.example --tls-cert c.pem --tls-key k.pem",
            ),
        ),
        Subcommand(
            "status", "Show machines, sessions and waiting questions", "hub.serving:show_status",
            options=(_DATA,),
        ),
        Subcommand(
            "pair", "Show a code to pair a device", "hub.serving:pair_device",
            options=(
                option(
                    "--role", value="role", help="what the device may do (answer)",
                    choices=("watch", "answer", "steer", "start"),
                ), _NAME, _DATA,
            ),
            examples=("bridle hub pair --role start --name phone",),
        ),
        Subcommand(
            "invite", "Show a code to add a machine", "hub.serving:add_machine",
            options=(_NAME, _DATA), examples=("bridle hub invite --name workstation",),
        ),
        Subcommand(
            "join", "Join a hub and serve folders of this machine", "hub.joining:join_hub",
            arguments=(
                Argument("url", "the address of the hub"),
                Argument("code", "the code that bridle hub invite shows; - for stdin"),
            ),
            options=(
                _FOLDER, _NAME, _CAPACITY, switch("--no-run", help="join only; bridle hub agent serves"),
                switch("--no-folder", help="start no sessions; show those that join"),
            ),
            examples=("bridle hub join https://hub.example K7PWX-2M9QD --folder ~/src/app",),
        ),
        Subcommand(
            "trust", "Encrypt what this machine sends, for devices that you trust",
            "hub.trust:trust_device",
            options=(switch("--list", help="list the devices that can read it"),),
            examples=("bridle hub trust",),
        ),
        Subcommand(
            "distrust", "Change the keys, so that a device can't read any more",
            "hub.trust:distrust_device",
            arguments=(Argument("device", "its name or id"),), examples=("bridle hub distrust phone",),
        ),
        Subcommand(
            "agent", "Serve the folders of this machine to its hub", "hub.joining:run_agent",
            options=(
                _FOLDER,
                repeated("--remove-folder", value="folder", help="stop serving this folder"),
                _CAPACITY, switch("--list", help="list the folders and exit"),
            ),
            examples=("bridle hub agent", "bridle hub agent --folder ~/src/other"),
        ),
        Subcommand(
            "devices", "List devices and machines", "hub.serving:list_devices", options=(_DATA,)
        ),
        Subcommand(
            "revoke", "Revoke the key of a device or machine", "hub.serving:revoke",
            arguments=(Argument("device", "its name or id"),), options=(_DATA,),
        ),
        Subcommand(
            "backup", "Back up the data of the hub, even while it runs", "hub.serving:back_up_hub",
            arguments=(_FILE,), options=(_DATA,),
        ),
        Subcommand(
            "restore", "Restore the data of the hub from a backup", "hub.serving:restore_hub",
            arguments=(_FILE,),
            options=(switch("--force", help="replace existing data, which is kept next to it"), _DATA),
        ),
    ),
)  # fmt: skip
