"""Whether zsh, with the options of sh, reads a command as bash does; what is not certain is not."""

import re

from bridle.permissions.word_lists import listed
from bridle.types.shell import Reading

_NAME = r"\$(?:[A-Za-z_]\w*(?![\w\[:])|\{[A-Za-z_]\w*\}(?![\[:]))"
_QUOTED = rf"""'[^']*'|"(?:[^"$`\\!]|\\["\\$`]|{_NAME})*\""""
_REDIRECTED = r"\d?>>?[ \t]*(?:&\d)?|\d?<(?![<>&(])"
_JOINED = r"[;\n]|&&|\|\|?(?!&)"
_WORD = rf"(?:~(?=/))?(?:[\w@%+,./:-]|{_QUOTED}|[*?](?!\())(?:[\w@%+,./:=-]|{_QUOTED}|[*?](?!\())*"
_SAME = re.compile(rf"(?:[ \t]+|{_REDIRECTED}|{_JOINED}|{_WORD})*", re.ASCII)
_UNLIKE = re.compile(r"[;&|]{3,}|;;|[<>]{3,}|\b(?:coproc|select|function|always|time)\b")
ZSH_WORDS = listed("""
    . : alias autoload bg bindkey break builtin bye case chdir command compadd comparguments compcall
    compctl compdescribe compfiles compgroups compquote compset comptags comptry compvalues continue
    coproc declare dirs disable disown do done echotc echoti elif else emulate enable end esac eval exec
    false fc fg fi float for foreach function functions getln getopts hash history if integer jobs kill
    let limit local log logout nocorrect noglob popd print private pushd pushln r read readonly rehash
    repeat return sched select set setopt shift source stat suspend sync then time times trap ttyctl
    type typeset ulimit umask unalias unfunction unhash unlimit unset unsetopt until vared wait whence
    where which while zcompile zcurses zdelattr zformat zftp zgdbmpath zgetattr zle zlistattr zmodload
    zparseopts zprof zpty zregexparse zselect zsetattr zsocket zstat zstyle zsystem ztcp ztie zuntie
    sysopen sysread syswrite sysseek syserror mapfile readarray shopt caller compgen complete compopt
    bind help
""")
"""Words that zsh or bash does itself, and not both in the same way; some of them come with modules."""


def unlike_bash(command: str, reading: Reading) -> str | None:
    """Why zsh may do something else with a command than what was judged; None where it cannot."""
    if not command.isascii() or not _SAME.fullmatch(command) or _UNLIKE.search(command):
        return "zsh may read it in another way than bash"
    for part in reading.parts:
        words = part.text.split()
        if not words or "=" in words[0]:
            return "zsh may read it in another way than bash"
        if words[0].strip("'\"") in ZSH_WORDS or any(name in ZSH_WORDS for name in part.programs):
            return f"zsh has its own {words[0]}"
        if words[0] == "cd" and (len(words) > 2 or words[-1][:1] in "-+"):
            return "zsh has its own cd"
    return None
