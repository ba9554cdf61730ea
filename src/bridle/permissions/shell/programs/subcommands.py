"""Programs with subcommands: which of them run another command, and which options may stand before one."""

from collections.abc import Iterable, Mapping, Sequence

from bridle.permissions.shell.programs.runners import PLAIN, TOOLCHAIN, Runner, by_option, runner
from bridle.permissions.shell.values.possible_words import Arg
from bridle.permissions.word_lists import listed

_CONTAINER = runner(
    "-a --add-host --annotation -c --cap-add --cap-drop --cidfile --cpus --cpuset-cpus --device --dns"
    " -e --env"
    " --env-file --expose --gpus -h --hostname --health-cmd --ip --ipc --isolation -l --label"
    " --log-driver --log-opt"
    " -m --memory --mount --name --network --net --pid --platform -p --publish --pull --restart --runtime"
    " --security-opt --shm-size --stop-signal --sysctl --tmpfs -u --user --ulimit --userns -v --volume"
    " --volumes-from -w --workdir",
    1,
    flags="-d -i -t -it -ti -P -q --rm --detach --interactive --tty --init --privileged --read-only --quiet",
    begins="--entrypoint",
)
_IN_CONTAINER = runner(
    "-e --env --env-file -u --user -w --workdir --detach-keys --index",
    1,
    flags="-d -i -t -it -ti -T --privileged --detach --interactive --tty",
)
_IN_POD = runner(
    "-c --container -n --namespace --context --kubeconfig -f --filename --image --pod-running-timeout",
    1,
    flags="-i -t -it -ti -q --stdin --tty --quiet --rm",
)
_IN_PANE = runner(
    "-c -e -F -n -s -t -x -y -l -p -b -S -T -h -w", flags="-d -A -D -E -P -X -a -k -v -f -Z", joins=True
)
_PACKAGE = runner("-p --package -w --workspace --prefix", flags="-y --yes -s", text="-c --call")
_PROJECT = runner(
    "-e --env -n --name -p --prefix --python --cwd -C --directory --env-file --manifest-path",
    flags="-v -q -s",
)
_ONE = runner("", 1)
_JOINED = runner(joins=True)
_BY_COMMAND = runner("-C --cd -j --jobs", text="-c --command")
_DOCKER_RUNS = {
    **dict.fromkeys(("run", "create", "container run", "container create", "compose run"), _CONTAINER),
    **dict.fromkeys(("exec", "container exec", "compose exec"), _IN_CONTAINER),
}


def _each(names: Iterable[str], runs: Mapping[str, Runner]) -> dict[str, Mapping[str, Runner]]:
    return dict.fromkeys(names, runs)


SUBCOMMANDS: dict[str, Mapping[str, Runner]] = {
    "git": {
        "bisect run": PLAIN,
        "submodule foreach": runner(flags="--recursive --quiet -q", joins=True),
        "rebase": by_option("-x --exec"),
        "filter-branch": by_option(
            "--env-filter --tree-filter --index-filter --parent-filter --msg-filter --commit-filter"
            " --tag-name-filter --setup"
        ),
        "difftool": by_option("-x --extcmd"),
        "clone": by_option("-u --upload-pack"),
        **dict.fromkeys(("fetch", "pull", "fetch-pack", "ls-remote"), by_option("--upload-pack --exec")),
        **dict.fromkeys(("push", "send-pack", "archive"), by_option("--receive-pack --exec")),
        "send-email": by_option("--smtp-server --sendmail-cmd --to-cmd --cc-cmd --header-cmd"),
        "grep": by_option("-O --open-files-in-pager"),
    },
    "npm": {"exec": _PACKAGE, "x": _PACKAGE, "explore": _ONE},
    "pnpm": {"": PLAIN, "exec": _PACKAGE, "dlx": _PACKAGE},
    "yarn": {"": PLAIN, "workspace": _ONE, "exec": _JOINED, "dlx": _PACKAGE, "node": PLAIN, "run": PLAIN},
    "bun": {"x": _PACKAGE, "run": PLAIN, "exec": _JOINED},
    "deno": {"x": PLAIN},
    "lerna": {"exec": PLAIN},
    "nx": {"exec": PLAIN},
    "uv": {"run": TOOLCHAIN, "tool run": TOOLCHAIN, "x": TOOLCHAIN},
    "poetry": {"run": PLAIN},
    "pipenv": {"run": PLAIN},
    **_each(listed("pdm hatch rye pixi conda mamba micromamba"), {"run": _PROJECT, "exec": _PROJECT}),
    "pipx": {"run": runner("--spec --python --pip-args")},
    "tox": {"exec": _PROJECT},
    "coverage": {"run": runner("-m", begins="-m")},
    **_each(("bundle", "bundler"), {"exec": runner("--gemfile")}),
    "gem": {"exec": runner("-g -v --gem --version")},
    "cargo": {"watch": by_option("-x --exec -s --shell")},
    "rustup": {"run": _ONE},
    **_each(listed("rbenv pyenv nodenv asdf"), {"exec": PLAIN}),
    **_each(("mise", "rtx"), {"exec": _BY_COMMAND, "x": _BY_COMMAND}),
    "direnv": {"exec": _ONE},
    "volta": {"run": runner("--node --npm --pnpm --yarn")},
    "fnm": {"exec": runner("--using")},
    "nvm": {"exec": _ONE, "run": _ONE},
    "nix": {
        "run": runner("-f --file -I --expr --arg --argstr", 1, optional=True),
        **dict.fromkeys(("shell", "develop"), by_option(begins="-c --command")),
    },
    "guix": {"shell": PLAIN, "environment": PLAIN},
    "devbox": {"run": runner("-c --config -e --env", joins=True)},
    **_each(("docker", "podman", "nerdctl"), _DOCKER_RUNS),
    **_each(("docker-compose", "podman-compose"), {"run": _CONTAINER, "exec": _IN_CONTAINER}),
    **_each(("kubectl", "oc"), dict.fromkeys(("exec", "run", "debug", "rsh"), _IN_POD)),
    "ctr": {"run": runner("", 2), "tasks exec": runner("--exec-id", 1)},
    **_each(("lxc", "incus"), {"exec": runner("--env --user --group --cwd --mode", 1)}),
    "multipass": {"exec": runner("-d --working-directory", 1)},
    "limactl": {"shell": runner("--workdir --shell", 1)},
    "distrobox": {"enter": runner("-n --name", 1, optional=True)},
    "toolbox": {"run": runner("-c --container -d -r")},
    "machinectl": {"shell": _ONE},
    "vagrant": {"ssh": by_option("-c --command")},
    "gcloud": {"compute ssh": by_option("--command")},
    "adb": {"shell": _JOINED},
    "aws-vault": {"exec": runner("-d --duration", 1)},
    "chamber": {"exec": _ONE},
    "op": {"run": runner("--env-file")},
    **_each(("doppler", "infisical"), {"run": runner("-p --project -c --config -t --env", text="--command")}),
    "dotenv": {"run": PLAIN},
    **_each(("foreman", "honcho"), {"run": runner("-e -f")}),
    "heroku": {"run": runner("-a --app -s", joins=True), "local:run": PLAIN},
    **_each(("fly", "flyctl"), {"ssh console": by_option("-C --command")}),
    "perf": dict.fromkeys(
        listed("stat record trace kvm mem lock sched timechart"),
        runner(
            "-e -o -p -t -C -F -c -m -r -I -x -M -A -D --event --output --call-graph",
            flags="-a -g -v -d -B -n",
        ),
    ),
    "rr": {"record": PLAIN},
    "uftrace": {"record": PLAIN, "live": PLAIN},
    "tmux": dict.fromkeys(
        [
            "new-session",
            "new",
            "new-window",
            "neww",
            "split-window",
            "splitw",
            "run-shell",
            "run",
            "respawn-pane",
            "respawnp",
            "respawn-window",
            "respawnw",
            "display-popup",
            "popup",
            "if-shell",
            "if",
            "send-keys",
            "send",
            "pipe-pane",
            "pipep",
            "set-hook",
            "bind-key",
            "bind",
        ],
        _IN_PANE,
    ),
    "zellij": {"run": runner("-n --name --cwd -d"), "action write-chars": _JOINED},
    "ip": {"netns exec": _ONE, "vrf exec": _ONE},
    "cmd": {"/c": _JOINED, "/k": _JOINED, "/C": _JOINED},
    "salt": {"cmd.run": _JOINED},
    "go": {
        **dict.fromkeys(("run", "test"), by_option(begins="-exec")),
        **dict.fromkeys(("build", "install", "vet"), by_option(begins="-toolexec -vettool")),
    },
}
"""Programs that run a command for some of their subcommands."""

_NODE = (
    "--prefix --userconfig --globalconfig --registry --cache --loglevel -w --workspace -C --dir --cwd"
    " --filter -F"
    " --tag --otp --access --scope --modules-folder --cache-folder --mutex --network-timeout"
)
_COMPOSE = (
    "-H --host -c --context --config -l --log-level --tlscacert --tlscert --tlskey -f --file -p"
    " --project-name"
    " --profile --env-file --project-directory --ansi --progress --parallel"
)
_KUBE = (
    "-n --namespace --context --cluster --user -s --server --kubeconfig --token --as --as-group"
    " --as-uid --cache-dir"
    " --certificate-authority --client-certificate --client-key --request-timeout --tls-server-name -v"
    " --profile"
    " --kube-context --kube-token"
)
_GROUPS = (
    ("git", "-C -c --git-dir --work-tree --namespace --super-prefix --config-env --attr-source --list-cmds"),
    ("npm pnpm yarn bun lerna nx turbo rush vercel netlify wrangler firebase ng vite next expo eas", _NODE),
    ("docker podman nerdctl buildah docker-compose podman-compose", _COMPOSE),
    ("kubectl oc k3s helm helmfile istioctl argocd flux kustomize stern skaffold tilt minikube kind", _KUBE),
    ("gh glab hub tea", "-R --repo --hostname"),
    (
        "pip pip3 pipx",
        "--python --log --proxy --retries --timeout --exists-action --trusted-host --cert --client-cert"
        " --cache-dir",
    ),
    (
        "apt apt-get aptitude apt-cache dpkg",
        "-o --option -c --config-file -t --target-release --default-release -a --host-architecture",
    ),
    (
        "dnf yum zypper rpm pacman apk brew port snap flatpak choco winget scoop",
        "-c --config --installroot --root -x --exclude --repo --setopt -C --dbpath",
    ),
    ("cargo", "--color --config -C -Z --manifest-path --target-dir"),
    ("rustup", "--toolchain"),
    ("go", "-C"),
    (
        "uv",
        "--directory --project --config-file --cache-dir --color --python -p --allow-insecure-host"
        " --env-file",
    ),
    ("poetry", "-C --directory -P --project"),
    ("pdm hatch rye pipenv pixi", "-p --project -e --env -C --config --manifest-path --python -g"),
    ("conda mamba micromamba", "-n --name -p --prefix -r --root-prefix --rc-file"),
    (
        "make gmake just task rake ninja cmake ctest meson bazel buck scons ant tox nox invoke fab",
        "-C -f --directory --file --makefile -I -l -o -W --justfile -d --working-directory -t"
        " --taskfile --rakefile",
    ),
    (
        "mvn gradle sbt gradlew mvnw",
        "-f --file -s --settings -P -p --project-dir -b -c -g --gradle-user-home -I --init-script -x",
    ),
    (
        "terraform tofu terragrunt pulumi packer vault consul nomad",
        "-chdir -C --cwd -s --stack --color -address -namespace",
    ),
    (
        "aws",
        "--profile --region --output --query --endpoint-url --color --ca-bundle --cli-read-timeout"
        " --cli-connect-timeout",
    ),
    (
        "gcloud gsutil bq",
        "--project --account --configuration --region --zone --format --verbosity --billing-project"
        " --impersonate-service-account -u -o -h",
    ),
    ("az", "--subscription --output -o --query -g --resource-group"),
    (
        "doctl flyctl fly heroku linode-cli hcloud oci ibmcloud cf",
        "-a --app -c --config -t --access-token --context -o --output -r --remote --profile --region",
    ),
    (
        "systemctl journalctl loginctl machinectl",
        "-H --host -M --machine -t --type -p --property -n --lines -o --output --root -s --signal --job-mode",
    ),
    ("service dotnet mix deno corepack rr uftrace zellij salt cmd", ""),
    ("svn hg jj bzr fossil", "-R --repository --cwd --config -r --username --password --config-dir"),
    ("redis-cli", "-h -p -a -n -u -s --user --pass"),
    ("ip tc nmcli", "-n -netns -b -f -m -w --fields --wait"),
    ("adb fastboot", "-s -t -P -H -L"),
    ("tmux", "-f -L -S -T -c"),
    ("nix nix-env guix devbox", "--option --extra-experimental-features -I --store --profile -p -c"),
    (
        "bundle gem bundler rails composer artisan symfony",
        "--gemfile --config-file -d --working-dir -e --env",
    ),
    ("flutter dart swift xcodebuild pod fastlane", "-d --device-id --package-path -C"),
    (
        "sqlx diesel alembic flask django-admin manage.py prisma knex sequelize supabase",
        "-c -x -n --app -A --settings --pythonpath --database-url --schema",
    ),
    ("op doppler infisical chamber aws-vault", "--account --vault --cache --config --project -p"),
    ("mise rtx asdf rbenv pyenv nodenv volta fnm nvm direnv", "-C --cd -E --env"),
    (
        "perf lxc incus multipass limactl vagrant distrobox toolbox ctr",
        "--debug --buildid-dir --project --log-level",
    ),
    ("coverage twine ansible-galaxy foreman honcho dotenv", "--rcfile --config-file -e -f"),
    (
        "virsh ufw firewall-cmd nft iptables zfs zpool restic borg rclone mc s3cmd",
        "-c --connect -r --repo --config -p --password-file --zone -t",
    ),
)
VALUED: dict[str, frozenset[str]] = {
    name: listed(options) for names, options in _GROUPS for name in names.split()
}
"""Programs with subcommands, and their options with a value that may stand before one."""


def operand_starts(args: Sequence[Arg], begins: Iterable[int], valued: frozenset[str]) -> list[int]:
    """Where the first word that is no option may stand behind one of these places.

    An unknown option is read both ways."""
    found: dict[int, None] = {}
    waiting, seen = list(begins), set[int]()
    while waiting:
        index = waiting.pop()
        if index >= len(args) or index in seen:
            continue
        seen.add(index)
        value = args[index].value
        if not value.startswith(("-", "+")) or len(value) < 2:
            found[index] = None
        elif "=" in value or value == "--" or value.startswith("+"):
            waiting.append(index + 1)
        elif value in valued:
            waiting.append(index + 2)
        elif value[:2] in valued and not value.startswith("--"):
            waiting.append(index + 1)
        else:
            waiting += [index + 2, index + 1]
    return list(found)
