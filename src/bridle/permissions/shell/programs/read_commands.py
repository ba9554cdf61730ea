"""Commands that only read, each with its harmless options."""

from bridle.permissions.shell.programs.options import HarmlessUse

_GREP_LONG = (
    "extended-regexp fixed-strings basic-regexp perl-regexp regexp= file= ignore-case"
    " no-ignore-case word-regexp"
    " line-regexp null-data no-messages invert-match max-count= byte-offset line-number line-buffered"
    " with-filename no-filename label= only-matching quiet silent binary binary-files= text directories="
    " devices= group-separator= no-group-separator"
    " recursive include= exclude= exclude-from= exclude-dir= files-without-match"
    " files-with-matches count"
    " initial-tab null before-context= after-context= context= color? colour? version help"
)
_GREP = HarmlessUse(
    "EFGPe:f:iywxzsvm:bnHhoqaD:d:rLlcTZUA:B:C:VI",
    _GREP_LONG,
    "pattern",
    recursive="-r --recursive",
    numbers=True,
    files="-f --file --exclude-from",
    patterns="-e -f --regexp --file --version -V --help",
)
_FD = HarmlessUse(
    "HIuisgFapd:t:e:E:0c:1qhVS:j:",
    "hidden no-ignore no-ignore-vcs no-ignore-parent unrestricted case-sensitive ignore-case glob regex"
    " fixed-strings absolute-path full-path max-depth= min-depth= exact-depth= type= extension= exclude="
    " print0 color= max-results= quiet size= changed-within= changed-before= owner= prune"
    " threads= strip-cwd-prefix"
    " path-separator= one-file-system show-errors version help",
    "pattern",
    safe=False,
    here=True,
)
_RG = HarmlessUse(
    "ivwxcl0nNHIoFPqSsuUaA:B:C:e:f:g:t:T:m:M:d:j:pr:hVE:.",
    "ignore-case smart-case case-sensitive invert-match word-regexp line-regexp count count-matches"
    " files-with-matches files-without-match files line-number no-line-number with-filename no-filename"
    " only-matching fixed-strings pcre2 quiet unrestricted multiline multiline-dotall text after-context="
    " before-context= context= regexp= file= glob= iglob= type= type-not= max-count= max-columns="
    " max-columns-preview max-depth= maxdepth= max-filesize= threads= pretty replace= hidden no-hidden"
    " no-ignore no-ignore-vcs no-ignore-parent no-ignore-global no-ignore-dot heading no-heading color="
    " colors= column no-column sort= sortr= stats no-stats json trim no-config no-messages vimgrep passthru"
    " null null-data crlf encoding= line-buffered block-buffered byte-offset include-zero type-list version"
    " help glob-case-insensitive no-require-git one-file-system ignore-file= context-separator= debug"
    " field-match-separator= path-separator= engine= auto-hybrid-regex dfa-size-limit= regex-size-limit=",
    "pattern",
    safe=False,
    expands=True,
    here=True,
    files="-f --file --ignore-file",
    patterns="-e --regexp -f --file --files --type-list --version -V",
)

PLAIN = {
    "ls": HarmlessUse(
        "aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1Dw:I:T:",
        "all almost-all author escape block-size= ignore-backups color? colour? directory dired classify?"
        " file-type format= full-time group-directories-first no-group human-readable si hide= hyperlink?"
        " indicator-style= inode ignore= kibibytes dereference dereference-command-line"
        " numeric-uid-gid literal"
        " hide-control-chars show-control-chars quote-name quoting-style= reverse recursive size sort= time="
        " time-style= tabsize= width= context zero version help",
        here=True,
        follows="-R+-L -R+--dereference --recursive+-L --recursive+--dereference",
    ),
    "cat": HarmlessUse(
        "AbeEnstTuv",
        "show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting version help",
    ),
    "head": HarmlessUse(
        "n:c:qvz",
        "lines= bytes= quiet silent verbose zero-terminated version help",
        numbers=True,
        limits="-c --bytes",
    ),
    "tail": HarmlessUse(
        "n:c:qvzfFs:",
        "lines= bytes= quiet silent verbose zero-terminated follow? retry sleep-interval= pid= version help",
        numbers=True,
    ),
    "wc": HarmlessUse("clmLw", "bytes chars lines max-line-length words total= version help"),
    "grep": _GREP,
    "egrep": _GREP,
    "fgrep": _GREP,
    "rg": _RG,
    "fd": _FD,
    "fdfind": _FD,
    "stat": HarmlessUse("Lfc:t", "dereference file-system format= printf= terse cached= version help"),
    "file": HarmlessUse(
        "bhiLkNrE0",
        "brief mime mime-type mime-encoding no-dereference dereference keep-going no-pad raw print0"
        " version help",
        safe=False,
        expands=True,
    ),
    "du": HarmlessUse(
        "abB:cd:hHkmlsSt:x0P",
        "all apparent-size block-size= bytes total max-depth= human-readable count-links separate-dirs si"
        " summarize threshold= one-file-system null no-dereference exclude= time? time-style="
        " inodes version help",
        here=True,
    ),
    "df": HarmlessUse(
        "aB:hHiklPt:Tx:",
        "all block-size= human-readable si inodes local portability type= print-type exclude-type="
        " total output?"
        " version help",
        "text",
    ),
    "tree": HarmlessUse(
        "adfixL:P:I:nNqpughDFstcUrAQSCJX",
        "dirsfirst noreport charset= filelimit= prune matchdirs ignore-case gitignore inodes device"
        " si du metafirst"
        " filesfirst sort= timefmt= version help",
        safe=False,
        here=True,
        letters="apart",
    ),
    "pwd": HarmlessUse("LP", "logical physical version help", "none"),
    "basename": HarmlessUse("as:z", "multiple suffix= zero version help", "text"),
    "dirname": HarmlessUse("z", "zero version help", "text"),
    "realpath": HarmlessUse(
        "emLPsqz",
        "canonicalize-existing canonicalize-missing logical physical quiet relative-to= relative-base= strip"
        " no-symlinks zero version help",
    ),
    "readlink": HarmlessUse(
        "femnqsvz",
        "canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent verbose"
        " zero version help",
    ),
    "which": HarmlessUse("as", "all version help", "text"),
    "whereis": HarmlessUse("bmsu", "", "text"),
    "type": HarmlessUse("aftpP", "", "text"),
    "whoami": HarmlessUse("", "version help", "none"),
    "id": HarmlessUse("agGnruzZ", "context group groups name real user zero version help", "text"),
    "groups": HarmlessUse("", "version help", "text"),
    "users": HarmlessUse("", "version help", "none"),
    "tty": HarmlessUse("s", "silent quiet version help", "none"),
    "hostname": HarmlessUse("sI", "short all-ip-addresses version help", "none", safe=False),
    "uname": HarmlessUse(
        "asnrvmpio",
        "all kernel-name nodename kernel-release kernel-version machine processor hardware-platform"
        " operating-system version help",
        "none",
    ),
    "arch": HarmlessUse("", "version help", "none"),
    "nproc": HarmlessUse("", "all ignore= version help", "none"),
    "uptime": HarmlessUse("psV", "pretty since version help", "none"),
    "free": HarmlessUse(
        "bkmghltwvs:c:",
        "bytes kilo mega giga tera human lohi total wide si kibi mebi gibi version help",
        "none",
    ),
    "lscpu": HarmlessUse("aebcpxyJ", "all extended? json parse? version help", "none"),
    "lsblk": HarmlessUse(
        "abdfilmnpPrtJo:", "all bytes nodeps fs json list output= paths raw version help", "none"
    ),
    "pgrep": HarmlessUse(
        "acfilnoP:u:vwxd:",
        "list-name list-full full exact newest oldest count version help",
        "text",
        safe=False,
    ),
    "sort": HarmlessUse(
        "bcCdfghik:Mmnrst:uVz",
        "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting"
        " month-sort"
        " human-numeric-sort numeric-sort random-sort reverse sort= version-sort check? key= merge stable"
        " field-separator= unique zero-terminated parallel= debug version help",
        safe=False,
        expands=True,
    ),
    "uniq": HarmlessUse(
        "cdDf:is:uw:z",
        "count repeated all-repeated? skip-fields= group? ignore-case skip-chars= unique"
        " check-chars= zero-terminated"
        " version help",
        safe=False,
        most=1,
    ),
    "cut": HarmlessUse(
        "b:c:d:f:nsz",
        "bytes= characters= delimiter= fields= complement only-delimited output-delimiter="
        " zero-terminated version help",
    ),
    "tr": HarmlessUse("cCdst", "complement delete squeeze-repeats truncate-set1 version help", "text"),
    "paste": HarmlessUse("d:sz", "delimiters= serial zero-terminated version help"),
    "column": HarmlessUse(
        "c:deH:JLN:O:o:R:s:tT:W:x",
        "output-width= table separator= output-separator= table-columns= table-right= table-hide="
        " table-order= table-truncate= table-wrap= table-noheadings json keep-empty-lines fillrows"
        " version help",
    ),
    "nl": HarmlessUse(
        "b:d:f:h:i:l:n:ps:v:w:",
        "body-numbering= header-numbering= number-format= number-separator= number-width="
        " starting-line-number= line-increment= version help",
    ),
    "tac": HarmlessUse("brs:", "before regex separator= version help"),
    "rev": HarmlessUse("0", "zero version help"),
    "fold": HarmlessUse("bsw:", "bytes spaces width= version help", numbers=True),
    "fmt": HarmlessUse(
        "cstup:w:g:",
        "crown-margin split-only tagged-paragraph uniform-spacing width= prefix= version help",
        numbers=True,
    ),
    "expand": HarmlessUse("it:", "initial tabs= version help"),
    "unexpand": HarmlessUse("at:", "all first-only tabs= version help"),
    "join": HarmlessUse(
        "a:e:ij:o:t:v:1:2:z", "ignore-case check-order nocheck-order header zero-terminated version help"
    ),
    "comm": HarmlessUse(
        "123z", "check-order nocheck-order output-delimiter= total zero-terminated version help"
    ),
    "diff": HarmlessUse(
        "abBcC:deEiI:nNpqrsS:tTuU:wW:yZ",
        "normal brief report-identical-files context? unified? ed rcs side-by-side width= left-column"
        " suppress-common-lines show-c-function show-function-line= label= expand-tabs initial-tab tabsize="
        " suppress-blank-empty recursive no-dereference new-file unidirectional-new-file"
        " ignore-file-name-case"
        " exclude= starting-file= ignore-case ignore-tab-expansion ignore-trailing-space ignore-space-change"
        " ignore-all-space ignore-blank-lines ignore-matching-lines= text strip-trailing-cr minimal"
        " speed-large-files color? palette= line-format= horizon-lines= version help",
        safe=False,
        follows="always",
    ),
    "cmp": HarmlessUse("bi:ln:s", "print-bytes ignore-initial= verbose bytes= quiet silent version help"),
    **dict.fromkeys(
        ("md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum"),
        HarmlessUse("btz", "binary text tag zero version help"),
    ),
    "cksum": HarmlessUse("a:z", "algorithm= untagged zero base64 raw version help"),
    "shasum": HarmlessUse("a:bt", "algorithm= binary text version help", safe=False, expands=True),
    "sum": HarmlessUse("rs", "sysv version help"),
    "od": HarmlessUse(
        "A:j:N:S:t:vw::abcdfiloxs",
        "address-radix= skip-bytes= read-bytes= strings? format= output-duplicates width? endian="
        " version help",
        limits="-N --read-bytes",
    ),
    "hexdump": HarmlessUse(
        "bcCde:n:os:vx",
        "one-byte-octal canonical length= skip= no-squeezing version help",
        safe=False,
        expands=True,
        limits="-n --length",
    ),
    "xxd": HarmlessUse("abc:Cdeg:il:o:ps:u", "", safe=False, most=1, limits="-l", letters="alone"),
    "strings": HarmlessUse(
        "adfn:t:e:w", "all bytes= print-file-name radix= encoding= version help", safe=False, expands=True
    ),
    "base64": HarmlessUse("diw:", "decode ignore-garbage wrap= version help"),
    "base32": HarmlessUse("diw:", "decode ignore-garbage wrap= version help"),
    "seq": HarmlessUse("f:s:w", "format= separator= equal-width version help", "text", numbers=True),
    "sleep": HarmlessUse("", "version help", "text"),
    "expr": HarmlessUse("", "version help", "text"),
    "cal": HarmlessUse("13jmsyA:B:n:w", "one three sunday monday julian year version help", "text"),
    "ncal": HarmlessUse("13jmsyA:B:bhMw", "", "text"),
    "locale": HarmlessUse("ackm", "all-locales charmaps category-name keyword-name version help", "text"),
    "getconf": HarmlessUse("a", "version help", "text"),
    "factor": HarmlessUse("", "version help", "text"),
    "numfmt": HarmlessUse(
        "d:z", "to= from= suffix= field= format= padding= header? grouping version help", "text"
    ),
    "shuf": HarmlessUse(
        "ei:n:rz", "echo input-range= head-count= repeat zero-terminated version help", safe=False
    ),
    "pr": HarmlessUse("abcdfFh:l:mN:n::rs::S::tTvw:W:", "version help", safe=False, numbers=True),
    "iconv": HarmlessUse(
        "f:t:cls",
        "from-code= to-code= list silent version help",
        safe=False,
        character_sets="-f -t --from-code --to-code",
    ),
    "bc": HarmlessUse("lqsw", "mathlib quiet standard warn version", "none", safe=False),
    "tsort": HarmlessUse("", "version help"),
    "nm": HarmlessUse(
        "aABoDf:gnpPrSst:uvWVX",
        "debug-syms print-file-name demangle? no-demangle dynamic format= extern-only numeric-sort no-sort"
        " portability reverse-sort print-size print-armap size-sort radix= undefined-only defined-only"
        " version help",
        safe=False,
    ),
    "readelf": HarmlessUse(
        "ahlSgtesnrudVAcDWIx:p:R:",
        "all file-header program-headers segments section-headers sections section-groups section-details"
        " headers syms symbols dyn-syms notes relocs unwind dynamic version-info arch-specific archive-index"
        " use-dynamic hex-dump= string-dump= relocated-dump= histogram wide version help",
        safe=False,
    ),
    "size": HarmlessUse("ABGdotxV", "format= radix= common totals version help", safe=False),
    "dpkg": HarmlessUse(
        "lL:sS:p",
        "list listfiles= status search= print-avail get-selections print-architecture version help",
        "text",
        safe=False,
    ),
    "dpkg-query": HarmlessUse("lL:sS:p", "list listfiles= status search= version help", "text", safe=False),
    "who": HarmlessUse(
        "abdHlmpqrstTu",
        "all boot dead heading login count process runlevel short time writable message mesg users"
        " version help",
    ),
    "w": HarmlessUse("hsuofiV", "no-header short no-current old-style from ip-addr version help", "text"),
    "pidof": HarmlessUse("sx", "", "text", safe=False),
    "pstree": HarmlessUse("aAcghlnpstTuU", "", "text", safe=False),
    "vmstat": HarmlessUse(
        "afmnswt", "active forks slabs one-header stats wide timestamp version help", "text"
    ),
    "findmnt": HarmlessUse(
        "aDJlnPrt:o:u",
        "ascii df json list noheadings pairs raw types= output= notruncate version help",
        "text",
        safe=False,
    ),
    "clear": HarmlessUse("", "", "none"),
    "jobs": HarmlessUse("lpnrs", "", "text", safe=False),
    "times": HarmlessUse("", "", "none"),
    "ulimit": HarmlessUse("SHacdefilmnpqrstuvx", "", "none"),
    "umask": HarmlessUse("Sp", "", "none"),
    "shopt": HarmlessUse("p", "", "none"),
    "alias": HarmlessUse("p", "", "none"),
    "help": HarmlessUse("dms", "", "text"),
    "wait": HarmlessUse("", "", "text", safe=False),
}

_NAMES_ONLY = (
    "aws bash cc clang cmake curl docker ffmpeg g++ gawk gcc gh git grep javac jq make"
    " mysql ninja node npm"
    " black clang++ fish ghc isort julia lua luajit mypy objdump pg_config pre-commit R redis-cli zsh"
    " nvim openssl perl php pip pip3 psql python python3 rg ruby ruff sed sqlite3 ssh tar tmux uv vim wget"
)
VERSIONS = {
    **{name: frozenset({"--version"}) for name in _NAMES_ONLY.split()},
    "node": frozenset({"--version", "-v", "--help", "-h"}),
    "npm": frozenset({"--version", "-v"}),
    "python": frozenset({"--version", "-V", "--help", "-h"}),
    "python3": frozenset({"--version", "-V", "--help", "-h"}),
    "pip": frozenset({"--version", "-V", "--help"}),
    "pip3": frozenset({"--version", "-V", "--help"}),
    "lua": frozenset({"-v"}),
    "perl": frozenset({"--version", "-v"}),
    "ruby": frozenset({"--version", "-v"}),
    "php": frozenset({"--version", "-v"}),
    "make": frozenset({"--version", "-v", "--help"}),
    "git": frozenset({"--version", "version", "--help", "help"}),
    "npx": frozenset({"--version", "-v"}),
    "bun": frozenset({"--version", "-v"}),
    "deno": frozenset({"--version", "-V"}),
    "tsc": frozenset({"--version", "-v"}),
    "curl": frozenset({"--version", "-V", "--help"}),
    "gcc": frozenset({"--version", "--help"}),
    "tput": frozenset({"cols", "lines", "colors"}),
    "stty": frozenset({"size"}),
    "openssl": frozenset({"version"}),
    "ffmpeg": frozenset({"-version"}),
    "tmux": frozenset({"-V"}),
    "ssh": frozenset({"-V"}),
}
"""How programs that do not look at the project for it are asked for their version.

Not among them: rustc, cargo and go, whose version the project chooses and may bring along; yarn, which runs
the copy that the project names; terraform and docker version, which talk to a server; and whatever loads
plugins or configuration first, such as pytest."""
