"""Programs that run another command, and how it is given to them: a table for rules that deny or ask."""

import re

from msgspec import Struct

from bridle.permissions.word_lists import listed

NEVER = 1_000
"""More words than a command is looked through for."""


class Runner(Struct, frozen=True):
    """How a program finds the command that it runs among its own words."""

    valued: frozenset[str] = frozenset()
    """Options that take a value; one that is in no list is read both ways."""
    operands: int = 0
    """How many words of its own stand before the command."""
    flags: frozenset[str] = frozenset()
    """Options without a value."""
    text: frozenset[str] = frozenset()
    """Options whose value is a command line."""
    begins: frozenset[str] = frozenset()
    """Options whose value is where a command begins."""
    optional: bool = False
    """The words of its own may be left out."""
    assigns: bool = False
    """`NAME=value` may stand before the command."""
    joins: bool = False
    """The rest of its words, joined, are a command line, and so may each of them be."""
    stdin: bool = False
    """Without a command it runs what it reads from standard input."""
    splits: bool = False
    """What it is given as text falls apart into words by rules of its own, before those behind it."""


def runner(
    valued: str = "",
    operands: int = 0,
    *,
    flags: str = "",
    text: str = "",
    begins: str = "",
    optional: bool = False,
    assigns: bool = False,
    joins: bool = False,
    stdin: bool = False,
    splits: bool = False,
) -> Runner:
    """A row of the table, with lists of options as text."""
    return Runner(
        valued=listed(valued),
        operands=operands,
        flags=listed(flags),
        text=listed(text),
        begins=listed(begins),
        optional=optional,
        assigns=assigns,
        joins=joins,
        stdin=stdin,
        splits=splits,
    )


def by_option(text: str = "", valued: str = "", *, begins: str = "", stdin: bool = False) -> Runner:
    """A program that runs a command for one of its options alone."""
    return runner(valued, NEVER, text=text, begins=begins, stdin=stdin)


PLAIN = Runner()
TOOLCHAIN = runner(
    "-p --python --with --with-requirements --with-editable --group --extra --directory --project --env-file"
    " --index-url --from -i"
)
_SHELL = {
    "builtin": PLAIN,
    "command": runner(flags="-p"),
    "exec": runner("-a", flags="-c -l"),
    "coproc": PLAIN,
    "noglob": PLAIN,
    "nocorrect": PLAIN,
    "eval": runner(joins=True),
    "trap": runner(flags="-p -l", joins=True),
    "compgen": by_option("-C -W", "-A -G -P -S -X -F"),
    "complete": by_option("-C -W", "-A -G -P -S -X -F"),
    "mapfile": by_option("-C", "-d -n -O -s -u -c"),
    "readarray": by_option("-C", "-d -n -O -s -u -c"),
    "bind": by_option("-x", "-f -m -q -u -r"),
    "hash": by_option(begins="-p"),
    **dict.fromkeys(listed("if then elif else while until do ! { } -"), PLAIN),
}
_LIMITS = {
    "timeout": runner(
        "-s --signal -k --kill-after", 1, flags="-v --verbose --foreground --preserve-status -f -p"
    ),
    "time": runner("-o --output -f --format", flags="-p -a --append -v --verbose -q --quiet -l -h"),
    "nice": runner("-n --adjustment"),
    "nohup": PLAIN,
    "stdbuf": runner("-i -o -e --input --output --error"),
    "setsid": runner(flags="-c -f -w --ctty --fork --wait"),
    "ionice": runner("-c -n -p -P -u --class --classdata --pid", flags="-t --ignore"),
    "taskset": runner("-p --pid", 1, flags="-a --all-tasks -c --cpu-list"),
    "chrt": runner("-T -P -D -p", 1, flags="-b -f -i -o -r -a -d -v -R", optional=True),
    "numactl": runner(
        "-C -N -m -i -p --cpunodebind --membind --physcpubind --interleave --preferred", flags="-H -s -l"
    ),
    "setarch": runner("-p", 1, flags="-R -B -F -I -L -S -T -X -Z -3 -v -l", optional=True),
    **dict.fromkeys(
        ["linux32", "linux64", "i386", "i486", "i586", "i686", "x86_64", "uname26", "arm64", "aarch64"], PLAIN
    ),
    "arch": runner("-d -e -arch", flags="-x86_64 -arm64 -arm64e -i386 -64 -32"),
    "prlimit": runner("-p --pid -o --output", flags="--noheadings --raw --verbose"),
    "choom": runner("-n --adjust -p --pid"),
    "softlimit": runner("-m -d -s -l -a -o -p -f -c -r -t -C -H"),
    "chpst": runner("-u -U -b -e -m -d -o -p -f -c -t -n -l -L -/ -C", flags="-P -0 -1 -2 -v"),
    **dict.fromkeys(listed("setuidgid envuidgid envdir setlock gosu su-exec"), runner("", 1)),
    "pgrphack": PLAIN,
    "daemonize": runner("-c -e -o -p -l -u -E", flags="-a -v"),
    "daemon": runner("-n --name -u --user -r -l -e -o -b -D --chdir", flags="-f -i --foreground --respawn"),
    "start-stop-daemon": runner(
        "-p --pidfile -u --user -g --group -s --signal -n --name -c --chuid -r --chroot -d --chdir -N"
        " --nicelevel"
        " -P --procsched -I --iosched -k --umask -R --retry -O --output",
        flags="-S --start -K --stop -b --background -m --make-pidfile -q --quiet -o --oknodo -t --test -v",
        begins="-x --exec -a --startas",
    ),
    "cgexec": runner("-g", flags="--sticky"),
    "systemd-run": runner(
        "-p --property -u --unit -H --host -M --machine -E --setenv --description --slice --uid --gid --nice"
        " --working-directory --on-active --on-boot --on-calendar --on-startup --on-unit-active",
        flags="--user --system --scope -t --pty -P --pipe -q --quiet -G --collect --wait --no-block -r -d -S",
    ),
    "systemd-cat": runner("-t --identifier -p --priority --stderr-priority --level-prefix --namespace"),
    "systemd-inhibit": runner("--what --who --why --mode", flags="--list --no-pager"),
    "caffeinate": runner("-t -w", flags="-d -i -m -s -u"),
    "tini": runner("-p -e", flags="-s -v -vv -vvv -w -g -l"),
    "dumb-init": runner("-r --rewrite", flags="-c --single-child -v --verbose"),
    "catatonit": runner("-P"),
    "chronic": runner(flags="-v -e"),
    "ifne": runner(flags="-n"),
    "mispipe": runner(joins=True),
    "pee": runner(joins=True),
    "tsp": runner("-L -D -N -S -t -c"),
    "eatmydata": PLAIN,
    "cpulimit": runner("-l --limit -p --pid -e --exe -P --path -c --cpu", flags="-b -f -v -q -k -r -z"),
    "trickle": runner("-d -u -w -t -l -n -P", flags="-s -v"),
    "unbuffer": runner(flags="-p"),
    "rlwrap": runner(
        "-b -C -D -e -f -g -h -H -i -l -m -O -p -P -q -s -S -t -w -W -z -A",
        flags="-a -c -E -I -k -n -N -o -r -R -u -v",
    ),
    "faketime": runner("-p", 1, flags="-f -m --exclude-monotonic"),
    **dict.fromkeys(
        ["socksify", "tsocks", "catchsegv", "wine", "wine64", "box64", "busybox", "toybox"], PLAIN
    ),
    "torsocks": runner(
        "-u --user -p --pass -a --address -P --port", flags="-i --isolate -d --debug -q --quiet"
    ),
    "torify": runner(flags="-v"),
    **dict.fromkeys(listed("proxychains proxychains4 proxychains-ng"), runner("-f", flags="-q")),
}
_ELSEWHERE = {
    "env": runner(
        "-u --unset -C --chdir -a --argv0 -P -L -U",
        flags="-i -0 -v - --ignore-environment --null --debug",
        text="-S --split-string",
        assigns=True,
        splits=True,
    ),
    "sudo": runner(
        "-u --user -g --group -C --close-from -D --chdir -h --host -p --prompt -R --chroot -r --role -t"
        " --type -T"
        " --command-timeout -U --other-user",
        flags="-A -b -E -e -H -K -k -l -n -N -P -S -s -i -V -v --askpass --background --preserve-env"
        " --set-home"
        " --login --reset-timestamp --non-interactive --stdin --shell --validate",
        assigns=True,
        stdin=True,
    ),
    "doas": runner("-u -C -a", flags="-n -s -L"),
    "pkexec": runner("--user -u", flags="--disable-internal-agent --keep-cwd"),
    "run0": runner("-u --user -g --group -D --chdir --unit --property --nice --slice --setenv --background"),
    **dict.fromkeys(
        ("su", "runuser"),
        runner(
            "-s --shell -g --group -G --supp-group -w -T",
            1,
            flags="-l -m -p -f - -P --login --pty",
            text="-c --command --session-command",
            optional=True,
            stdin=True,
        ),
    ),
    "sg": runner("", 1, text="-c", joins=True),
    "newgrp": runner("", 1, stdin=True),
    "setpriv": runner(
        "--reuid --regid --ruid --euid --rgid --egid --groups --inh-caps --ambient-caps --bounding-set"
        " --securebits --pdeathsig --selinux-label --apparmor-profile --landlock-access --landlock-rule",
        flags="--clear-groups --keep-groups --init-groups --no-new-privs --nnp --reset-env -d --dump",
    ),
    "chroot": runner("--userspec --groups -u -g -G", 1, flags="--skip-chdir", stdin=True),
    "fakechroot": runner("-l --lib -d -e -c -b", flags="-s --use-system-libs"),
    "fakeroot": runner("-l --lib --faked -s -i -b", flags="-u -h -v"),
    "proot": runner("-r -b -q -w -k -R -S -i -m --rootfs --bind --cwd", flags="-0"),
    "schroot": runner("-c --chroot -d --directory -u --user -s --shell", flags="-p -q -v"),
    "unshare": runner(
        "-S -G --setuid --setgid -R --root -w --wd --propagation --setgroups --map-user --map-group",
        flags="-m -u -i -n -p -U -C -T -f -r -c --fork --map-root-user --mount --net --pid --user --uts --ipc"
        " --cgroup --mount-proc",
        stdin=True,
    ),
    "nsenter": runner(
        "-t --target -S -G --setuid --setgid",
        flags="-m -u -i -n -p -U -a -C -T -F -e -W --mount --net --pid --all --uts --ipc --user",
        stdin=True,
    ),
    "bwrap": runner(
        "--chdir --unsetenv --proc --dev --tmpfs --mqueue --dir --uid --gid --hostname --lock-file --sync-fd"
        " --seccomp --userns --pidns --args --info-fd --json-status-fd --block-fd --cap-add --cap-drop"
        " --perms",
        flags="--unshare-all --unshare-user --unshare-net --unshare-pid --unshare-ipc --unshare-uts"
        " --share-net"
        " --unshare-cgroup --die-with-parent --new-session --clearenv --as-pid-1",
    ),
    "firejail": PLAIN,
    "flatpak-spawn": runner("--directory"),
    "systemd-nspawn": runner("-D --directory -i --image -M --machine -u --user"),
    "runcon": runner("-u -r -t -l --user --role --type --range", 1, flags="-c --compute", optional=True),
    "aa-exec": runner("-p --profile -n --namespace", flags="-d -i -v"),
    "dbus-run-session": runner("--config-file --dbus-daemon"),
    "dbus-launch": runner(flags="--exit-with-session --auto-syntax --sh-syntax"),
    "ssh-agent": runner("-a -t -P -E -O", flags="-c -s -k -d -D"),
    "xvfb-run": runner("-n -s -e -f -p -w", flags="-a -l --auto-servernum --listen-tcp"),
    "vglrun": runner("-d -c -q"),
    "ssh": runner(
        "-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -P -p -Q -R -S -W -w",
        1,
        flags="-4 -6 -A -a -C -f -G -g -K -k -M -N -n -q -s -T -t -tt -V -v -X -x -Y -y",
        joins=True,
        stdin=True,
    ),
    "sshpass": runner("-f -d -p -P", flags="-e -v"),
    "autossh": runner("-M -i -l -o -p -F -J -L -R -D", 1, flags="-f -N -n -q -T -t", joins=True),
    "mosh": runner("-p --port", 1, flags="-a -n"),
    "rsh": runner("-l", 1, joins=True, stdin=True),
    "pdsh": runner("-w -x -u -t -f -l -R", joins=True),
    "pssh": runner("-h -H -l -p -o -e -t -O -x", joins=True),
    "wsl": runner("-d -u --distribution --user --cd", begins="-e --exec"),
    "xcrun": runner("--sdk -sdk --toolchain", flags="-f -r -l -n -k -v --run"),
    "sandbox-exec": runner("-f -n -p -D"),
}
_AGAIN = {
    **dict.fromkeys(
        ("xargs", "gxargs"),
        runner(
            "-a -d -E -I -L -n -P -s --max-args --max-procs --delimiter --arg-file --max-lines --max-chars"
            " --process-slot-var -J -R -S",
            flags="-0 -o -p -r -t -x -i -l -e --null --no-run-if-empty --verbose --interactive --exit"
            " --open-tty --replace",
        ),
    ),
    "parallel": runner(
        "-a --arg-file -j -n -N -P -I -S --jobs --colsep --sshlogin --joblog --results --timeout --retries"
        " --delay --load --memfree --nice --tmpdir --workdir --wd --env -d --delimiter -E -L -s --max-args",
        flags="-k -0 -X -m -q --dry-run --keep-order --bar --eta --progress --pipe --xargs --null --will-cite"
        " --line-buffer --lb -u --ungroup --group --tag",
        joins=True,
        stdin=True,
    ),
    "rush": runner("-j -i -n -d -D", joins=True),
    "watch": runner(
        "-n --interval -q --equexit",
        flags="-b -c -d -e -g -p -t -x -w --beep --color --differences --exec --errexit --no-title --chgexit",
        joins=True,
    ),
    "viddy": runner("-n --interval", joins=True),
    "entr": runner(flags="-a -c -d -n -p -r -s -z -x", joins=True),
    "watchexec": runner(
        "-w --watch -e --exts -f --filter -i --ignore -d --debounce -s --signal --shell -o", joins=True
    ),
    "reflex": runner("-r -g -R -G -d", joins=True),
    "nodemon": by_option("-x --exec", "-w --watch -e --ext -i --ignore -d --delay"),
    "chokidar": by_option("-c --command", "-d -i -t"),
    "hyperfine": runner(
        "-w --warmup -r --runs -m -M -L -P -D -S --shell --export-json --export-markdown --export-csv -n",
        joins=True,
        text="-p --prepare -c --cleanup -s --setup --conclude",
    ),
    "concurrently": runner("-n --names -c --prefix-colors -p --prefix -m --max-processes -s", joins=True),
    "flock": runner(
        "-w --wait --timeout -E --conflict-exit-code",
        1,
        flags="-s -x -e -u -n -o -F --shared --exclusive --unlock --nonblock --nb --close --no-fork"
        " --verbose",
        text="-c --command",
    ),
    "lockf": runner("-t", 1, flags="-k -n -s"),
    "at": by_option("", "-f -q -t", stdin=True),
    "batch": by_option(stdin=True),
    "script": runner(
        "-E -t -I -O -B -T -m -o --log-in --log-out --log-io --log-timing",
        1,
        flags="-a -e -f -q --append --return --flush --quiet",
        text="-c --command",
        optional=True,
        stdin=True,
    ),
    "screen": runner(
        "-c -e -h -p -r -R -s -S -t -T -d -x -dmS",
        flags="-a -A -D -dm -f -fn -i -l -L -m -O -q -U -v -X -ls",
        joins=True,
    ),
    "dtach": runner("-e -r", 1, flags="-A -c -n -N -E -z"),
    "abduco": runner("-e", 1, flags="-a -c -n -A -r -l -f"),
    "xterm": runner("-T -title -geometry -fn -bg -fg", begins="-e"),
    "gnome-terminal": runner("--title --working-directory", text="-e --command", begins="-x"),
    "xfce4-terminal": runner("-T", text="-e --command", begins="-x"),
    "konsole": runner("--workdir", begins="-e"),
}
_WATCHED = {
    "strace": runner(
        "-a -b -e -E -I -o -O -p -P -s -S -u -U -X --trace --output --string-limit --env",
        flags="-c -C -d -D -f -ff -F -h -i -k -n -N -q -r -t -T -v -V -w -x -xx -y -yy -z -Z",
    ),
    "ltrace": runner("-a -A -D -e -F -l -n -o -p -s -u -w -x", flags="-b -c -C -f -h -i -L -r -S -t -T -V"),
    "dtruss": runner("-p -n -W -t", flags="-a -b -c -d -e -f -l -L -o -s"),
    "valgrind": PLAIN,
    "heaptrack": runner("-o --output -p --pid", flags="-q -d"),
    "gdb": runner(
        "-x -s -e -c -p -d -cd -tty -ix -init-eval-command --command --pid",
        flags="-q -batch --batch -nx -nh -n -quiet --args -args",
        text="-ex -iex --eval-command -eval-command --ex",
    ),
    "lldb": runner("-p -n -s -S -w -c -f", text="-o -O --one-line", flags="-b --batch"),
    "bpftrace": by_option("-c"),
}
_PROJECTS = {
    "npx": runner(
        "-p --package --prefix -w --workspace --userconfig --registry --cache",
        flags="-y --yes --no -q --quiet --no-install --ignore-existing -ws",
        text="-c --call",
    ),
    "pnpx": runner("-p --package -C --dir", flags="-y -s", text="-c"),
    "bunx": runner("-p --package", flags="--bun --silent --verbose"),
    "uvx": TOOLCHAIN,
    "cross-env": runner(assigns=True),
    "cross-env-shell": runner(assigns=True, joins=True),
    "dotenv": runner("-e -f -c --file", flags="-o --override"),
    "env-cmd": runner("-f -e --file --environments", assigns=True),
    "corepack": PLAIN,
    "nix-shell": by_option("--run --command", "-p -I -A --argstr --arg -E -i"),
    "mpirun": runner("-n -np -c -H --host --hostfile -x --wdir --map-by --bind-to"),
    "mpiexec": runner("-n -np -c -H --host --hostfile -x --wdir"),
    "srun": runner("-A -c -J -N -n -o -e -p -t -w --mem --gres --account --partition --time"),
    "sbatch": by_option("--wrap", "-A -c -J -N -n -o -e -p -t -w"),
    "ansible": by_option("-a --args", "-i -m -M -u -f -e -l -t"),
    "coreutils": by_option(begins="--coreutils-prog"),
    **dict.fromkeys(("make", "gmake"), by_option("", "-C -f -I -j -l -o -W --directory --file --makefile")),
    "rsync": by_option("-e --rsh --rsync-path", "-f -T -B -M --exclude --include --files-from"),
    **dict.fromkeys(("scp", "sftp"), by_option("", "-B -b -c -D -F -i -J -l -o -P -R -s -X", begins="-S")),
    **dict.fromkeys(
        ("tar", "gtar", "bsdtar"),
        by_option(
            "--to-command --checkpoint-action -I --use-compress-program -F --info-script --new-volume-script"
            " --rsh-command --rmt-command"
        ),
    ),
    "zip": by_option("-TT --unzip-command"),
    "sort": by_option("--compress-program"),
    "split": by_option("--filter"),
    "man": by_option("-P --pager -H --html"),
    "nc": by_option("-e -c --exec --sh-exec"),
    "ncat": by_option("-e -c --exec --sh-exec"),
    **dict.fromkeys(("gcc", "g++", "cc", "c++", "clang", "clang++"), by_option(begins="-wrapper")),
    "wget": by_option(begins="--use-askpass"),
    "tcpdump": by_option(begins="-z"),
    "dpkg": by_option("--pre-invoke --post-invoke"),
    "openvpn": by_option("--up --down --route-up --ipchange --tls-verify --auth-user-pass-verify"),
    "cargo-watch": by_option("-x --exec -s --shell"),
}
RUNNERS: dict[str, Runner] = {**_SHELL, **_LIMITS, **_ELSEWHERE, **_AGAIN, **_WATCHED, **_PROJECTS}
"""Programs that run what stands behind their own words, or what one of their options says."""

FAMILIES: tuple[tuple[re.Pattern[str], Runner], ...] = (
    (re.compile(r"qemu-[a-z0-9_]+(?:-static)?"), runner("-L -s -cpu -E -U -g -B -p -d -D -R -0")),
    (
        re.compile(r"ld(?:-linux|-musl|64)?[-.\w]*\.so(?:\.\d+)*"),
        runner("--library-path --preload --audit --argv0 --inhibit-rpath --glibc-hwcaps-prepend"),
    ),
    (re.compile(r"s6-[a-z-]+"), runner("-u -g -G -d -t", 1, optional=True)),
)
"""Patterns for runners with many names."""
