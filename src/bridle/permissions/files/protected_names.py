"""Names of files and folders that decide what runs later, in lower case."""

FOLDERS = frozenset({
    ".git", ".vscode", ".idea", ".husky", ".devcontainer", ".cargo", ".yarn", ".mvn", ".claude", ".bridle",
    ".ssh", ".gnupg",
})  # fmt: skip
PAIRS = frozenset({
    (".config", "git"), (".config", "fish"), (".config", "nvim"), (".config", "mise"), (".config", "direnv"),
    (".docker", "config.json"), (".kube", "config"), (".aws", "config"), (".aws", "credentials"),
})  # fmt: skip
"""Names that count only in such a folder; projects have folders of these names for other things."""
FILES = frozenset({
    ".gitconfig", ".gitmodules", ".bashrc", ".bash_profile", ".bash_login", ".bash_aliases", ".bash_logout",
    ".zshrc", ".zprofile", ".zshenv", ".zlogin", ".zlogout", ".profile", ".envrc", ".npmrc", ".yarnrc",
    ".yarnrc.yml", ".pnp.cjs", ".pnp.loader.mjs", ".pnpmfile.cjs", "bunfig.toml", ".bunfig.toml", ".bazelrc",
    ".bazelversion", ".bazeliskrc", ".pre-commit-config.yaml", "lefthook.yml", "lefthook.yaml",
    ".lefthook.yml", ".lefthook.yaml", "gradle-wrapper.properties", "maven-wrapper.properties",
    ".devcontainer.json", ".ripgreprc", "pyrightconfig.json", ".mcp.json", ".claude.json",
    "mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml", ".tool-versions", ".direnvrc",
    ".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".inputrc", ".xprofile", ".xinitrc",
    ".xsession", ".xsessionrc", ".vimrc", ".gvimrc", ".exrc", ".nvimrc", ".nvim.lua", ".emacs", ".gdbinit",
    ".lldbinit", ".pythonrc", ".pythonrc.py", ".pdbrc", ".pryrc", ".irbrc", ".rprofile", ".psqlrc",
    ".sqliterc", ".screenrc", ".tmux.conf", ".curlrc", ".wgetrc", ".netrc", ".pypirc",
})  # fmt: skip
