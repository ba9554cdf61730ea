"""What a session in the background leaves alone."""

import os

from bridle.cli.session.setup import Setup
from bridle.host import git


def spared_checkout(setup: Setup) -> str | None:
    """The main checkout around a session in the background; None where it may change what is there.

    That is so in a work tree, outside a repository, and where `worktree.bgIsolation` is `none`.
    """
    if setup.options.job is None:
        return None
    wanted = setup.config.settings.worktree
    if wanted is not None and wanted.bg_isolation == "none":
        return None
    root = git.find_root(setup.cwd)
    is_main = root is not None and os.path.isdir(os.path.join(root, ".git"))
    return root if is_main else None
