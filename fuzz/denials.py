"""A denied program behind wrappers, spellings and scripts: none of them may start it."""

import random

_PLAIN = (
    "evil x", "\\evil x", "'evil' x", '"evil" x', "e\\vil x", "ev''il x", "/usr/bin/evil x", "/bin/evil x",
    "//usr/bin/evil x", "/usr/bin/../bin/evil x", "evi{l,} x", "{evil,x}", "ev$@il x", "ev$*il x",
    "evil$u x", "${u}evil x", "/usr/bin/evi[l] x", "/usr/bin/evi? x", "/usr/bin/ev*l x", "$'evil' x",
    "$'\\x65vil' x", "$'\\x{65}vil' x", "$'\\145vil' x", "$'\\u0065vil' x", "$\"evil\" x", "c=evil; $c x",
    'c=evil; "$c" x', "c=ev; ${c}il x", "c='evil x'; $c", "$(echo evil) x", "`echo evil` x",
    "f() { evil x; }; f", "alias f=evil", "evil\\\n x", "ev\\\nil x", "c=(evil x); ${c[@]}", "evil x",
    "t=evil; ${t:0:4} x", "t=xevil; ${t#x} x", "t=Evil; ${t,} x", "t=c; c=evil; ${!t} x",
    "[[a || evil x ]]", "echo \"$\\\n(evil x)\"", "for c in evil; do $c x; done", "read c <<<evil; $c x",
    "printf -v c evil; $c x", "set -- evil x; \"$@\"", "set evil; $1 x", "while :; do evil x; break; done",
    "case x in x) evil x;; esac", "x=$(evil x)", "cat <(evil x)", "echo x > >(evil x)", "{ evil x; }",
    "( evil x )", "! evil x", "coproc evil x", "evil x & wait", "declare x=$(evil x)", "trap 'evil x' EXIT",
    "x='a[$(evil x)]'; ((x))", "x='$(evil x)'; echo \"${x@P}\"", "PS4='$(evil x)'; set -x; :",
    "bind -x '\"a\": evil x'", "hash -p /usr/bin/evil t; t x", "enable -f x y",
    "command_not_found_handle() { evil x; }; nosuch", "mapfile -C 'evil x #' -c 1 < a.txt",
    "cat <<E\n$(evil x)\nE", "[|evil x", "x='a[$(evil x)]'; let x", "x='a[$(evil x)]'; [[ x -eq 1 ]]",
    "x=$(echo 'a[$(evil x)]'); ((x))", "x='\\044(evil x)'; echo \"${x@P}\"", "eval 'set evil'; $1 x",
    "command set evil; $1 x", "let 'a[$(evil x)]'", "test -v 'a[$(evil x)]'", "bash evil x",
    "source evil x",
    ". -- evil x", "perl -S evil x",
)  # fmt: skip
_WRAPPERS = (
    "X", "command X", "builtin command X", "exec X", "time X", "nohup X", "nice X", "nice -n 5 X",
    "timeout 5 X", "stdbuf -o0 X", "env X", "env -i X", "env A=b X", "env -S 'X'", "setsid X",
    "setsid -w X", "ionice -c3 X", "sudo X", "xargs -I{} X < a.txt", "echo | xargs X",
    "find . -maxdepth 0 -exec X \\;", "find . -maxdepth 0 -execdir X +", "sh -c 'X'", 'bash -c "X"',
    "bash -lc 'X'", "eval X", "eval 'X'", "bash <<< 'X'", "bash <<E\nX\nE", "echo 'X' | bash",
    "echo 'X' | sh", ". <(echo 'X')", "source /dev/stdin <<< 'X'", "busybox X", "setarch x86_64 X",
    "linux64 X", "prlimit X", "prlimit --nofile=100 X", "choom -n 0 -- X", "setpriv X", "taskset 1 X",
    "chrt -o 0 X", "script -qc 'X' /dev/null", "flock a.txt X", "flock a.txt -c 'X'", "watch -n1 X",
    "unshare X", "ssh-agent X", "start-stop-daemon --start --exec X", "systemd-cat X",
    "/lib64/ld-linux-x86-64.so.2 X", "perl -e 'system(\"X\")'", "perl -e 'exec qw(X)'",
    "python3 -c 'import os; os.system(\"X\")'", "awk 'BEGIN { system(\"X\") }'", "sed '1e X' a.txt",
    "git -c alias.x='!X' x", "git -c core.fsmonitor='X' status", "git bisect run X",
    "git submodule foreach 'X'", "tar cf /dev/null --checkpoint=1 --checkpoint-action=exec='X' a.txt",
    "make -f - <<< 'a:;X'", "npx X", "uv run X", "tmux new -d X", "screen -dm X",
    "gdb -batch -ex 'shell X'", "strace -o /dev/null X", "valgrind X", "vim -c '!X' -c q", "ed <<< '!X'",
    "capsh -- -c 'X'", "runuser -u root -- X", "su -c 'X'", "sg root -c 'X'", "chroot / X",
    "nsenter -a -t 1 X", "parallel ::: 'X'", "mawk 'BEGIN{system(\"X\")}'", "if X; then :; fi", "X || true",
    "true && X", "cd src; X", "(cd src; X)", "{ X; } 2>/dev/null", "A=b X", "A=b B=c X", "2>/dev/null X",
    "X < a.txt | cat", "git -c core.pager='X' -p log", "GIT_PAGER='X' git -p log",
    "GIT_EXTERNAL_DIFF='X' git diff",
    "make --eval='a:;X' a", "make -f - a <<< 'b := $(shell X)'", "sed 'eX' a.txt", "sed -n '\\,.,eX' a.txt",
    "sed -f - a.txt <<< '1eX'", "tar cf /dev/null --checkpoint=1 --checkpoint-act=exec='X' a.txt",
    "tar cf /dev/null -I 'X' a.txt", "split --filter='X' a.txt", "sort -S1k --compress-program='X' a.txt",
    "gdb -batch -ex 'she X'", "ruby -e 'system(\"X\")'", "node -e 'child_process.execSync(\"X\")'",
    "time -p X", "ltrace X", "numactl X", "catchsegv X", "run-parts X",
    "find . -maxdepth 0 -ok X \\; <<< y",
)  # fmt: skip


_SETS = (
    "c=evil", "c=ls; c=evil", "c=ls; printf -v c evil", "c=ls; printf -vc evil", "c=ls; read c <<<evil",
    "c=ls; read 'c[0]' <<<evil", "c=ls; read x c <<<'ls evil'", "c=ls; declare -n r=c; r=evil",
    "c=ls; eval c=evil", "c=ls; eval 'c=evil'", "c=ls; trap 'c=evil' DEBUG", "c=ls; export 'c=evil'",
    "c=ls; declare 'c=evil'", "c=ls; . /dev/stdin <<<c=evil", "unset c; : ${c:=evil}",
    "unset c; : \"${c='evil'}\"",
    "c=ev; c+=il", "c=(evil ls)", "c=ls; c[0]=evil", "c=ls; for c in evil; do :; done", "d=evil; c=$d",
    "c=$(echo evil)", "c=`printf evil`", "c=ls; mapfile -t c <<<evil", "c=ls; se$@t evil; c=$1",
    "declare -l c=EVIL", "c=EVIL; c=${c,,}", "c=xevil; c=${c#x}", "c=exvil; c=${c/x/}",
    "c=lsevil; c=${c:2}",
    "c=ls; rea$@d c <<<evil", "c=ls; read c <<E\nevil\nE\n", "f() { c=evil; }; c=ls; f",
    "c=ls; getopts x: c -xevil",
    "c=ls; let c=1; c=evil", "c=ls; IFS=x read c d <<<evilx", "c=ls; printf -v c '\\x65vil'",
    "c=ls; local c=evil; c=evil",
)  # fmt: skip
_USES = (
    "$c x", '"$c" x', "${c} x", "${c[0]} x", '"${c[@]}"', "${c:0:4} x", "${c%%x} x", "env $c", "sh -c $c",
    'sh -c "$c"',
    'eval "$c x"', "eval '$c x'", "command $c x", "${c@L} x", "$c$u x", "$u$c x", "r=c; ${!r} x",
    'set -- "$c"; "$@"',
    'f() { "$@"; }; f $c', "bash <<<$c", "bash <<E\n$c\nE\n", "for d in $c; do $d; done", "timeout 5 $c x",
    "find . -maxdepth 0 -exec $c \\;", "git -c alias.x=\"!$c\" x", "awk \"BEGIN{system(\\\"$c\\\")}\"",
    "sed \"1e$c\" a.txt",
    "make -f - <<<\"a:;$c\"", "xargs $c <a.txt", "x=$($c)", "cat <($c)", "((x[$($c)]))", "env -S\"$c x\"",
)  # fmt: skip


class DenialMaker:
    """Makes commands that try to start a program that a rule denies."""

    def __init__(self, choose: random.Random, programs: str) -> None:
        self._choose = choose
        self._programs = programs
        """The folder that stands for those of the system: it holds the denied program."""

    def command(self) -> str:
        choose = self._choose
        made = choose.choice(_PLAIN)
        if choose.random() < 0.35:
            made = f"{choose.choice(_SETS)}{choose.choice(('; ', ' && ', chr(10)))}{choose.choice(_USES)}"
        for _ in range(choose.choice((0, 1, 1, 2))):
            made = choose.choice(_WRAPPERS).replace("X", made)
        return made.replace("/usr/bin", self._programs).replace("/bin/evil", f"{self._programs}/evil")
