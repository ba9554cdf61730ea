"""Subcommands with several names: a rule for one of them is about all."""

from collections.abc import Iterator

_CONTAINERS = (
    "run exec create start stop restart rm kill cp logs attach commit export rename update wait pause unpause"
    " top stats port diff inspect"
)
_IMAGES = "build push pull save load import tag history inspect"
_DOCKER = (
    *((each, f"container {each}") for each in _CONTAINERS.split()),
    *((each, f"image {each}") for each in _IMAGES.split()),
    ("build", "image build", "builder build", "buildx build", "buildx b"),
    ("ps", "container ls", "container list", "container ps"),
    ("images", "image ls", "image list"),
    ("rmi", "image rm", "image remove"),
    ("info", "system info"),
    ("events", "system events"),
)
_NPM = (
    ("install", "i", "in", "ins", "inst", "insta", "instal", "isnt", "isnta", "isntal", "isntall", "add"),
    ("ci", "clean-install", "ic", "install-clean", "isntall-clean"),
    ("uninstall", "un", "unlink", "remove", "rm", "r"),
    ("run", "run-script", "rum", "urn"),
    ("exec", "x"),
    ("test", "tst", "t"),
    ("update", "up", "upgrade", "udpate"),
    ("config", "c"),
    ("link", "ln"),
    ("version", "verison"),
    ("owner", "author"),
    ("dist-tag", "dist-tags"),
    ("login", "adduser", "add-user"),
    ("install-test", "it"),
    ("rebuild", "rb"),
    ("create", "init", "innit"),
)
_GROUPS: dict[str, tuple[tuple[str, ...], ...]] = {
    **dict.fromkeys(("docker", "podman", "nerdctl"), _DOCKER),
    "npm": _NPM,
    "pnpm": (("install", "i"), ("remove", "rm", "uninstall", "un"), ("update", "up"), ("run", "run-script")),
    "cargo": (("build", "b"), ("run", "r"), ("test", "t"), ("check", "c"), ("doc", "d"), ("remove", "rm")),
    "git": (("add", "stage"),),
    "helm": (("uninstall", "un", "del", "delete"), ("list", "ls")),
    "brew": (("uninstall", "rm", "remove"), ("install", "instal")),
    "gem": (("install", "i"),),
    "bundle": (("install", "i"), ("exec", "e")),
    "terraform": (("destroy", "apply -destroy", "apply --destroy"),),
    "svn": (("commit", "ci"), ("checkout", "co"), ("delete", "del", "remove", "rm"), ("update", "up")),
    "hg": (("commit", "ci"), ("checkout", "co", "update", "up")),
}  # fmt: skip


def other_names(program: str, form: str) -> Iterator[str]:
    """A command as it would be written with the other names of its subcommand."""
    rest = form.removeprefix(f"{program} ")
    for group in _GROUPS.get(program, ()):
        for name in group:
            if rest == name or rest.startswith(f"{name} "):
                yield from (f"{program} {other}{rest[len(name) :]}" for other in group if other != name)
