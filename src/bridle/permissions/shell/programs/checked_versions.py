"""The versions of programs that the tables of harmless options were checked against, option by option."""

from bridle.permissions.word_lists import listed

CHECKED = {
    "coreutils 9.1": listed("""
        ls cat head tail wc stat du df pwd basename dirname realpath readlink whoami id groups users tty uname
        arch nproc sort uniq cut tr paste nl tac fold fmt expand unexpand join comm md5sum sha1sum sha224sum
        sha256sum sha384sum sha512sum b2sum cksum sum od base64 base32 seq sleep expr factor numfmt tsort date
        who printenv shuf pr mkdir touch rm rmdir mv cp tee
    """),
    "grep 3.8": listed("grep egrep fgrep"),
    "ripgrep 13.0": listed("rg"),
    "findutils 4.9": listed("find xargs"),
    "diffutils 3.8": listed("diff cmp"),
    "sed 4.9": listed("sed"),
    "mawk 1.3": listed("awk mawk"),
    "gawk 5.2": listed("gawk"),
    "jq 1.6": listed("jq"),
    "procps 4.0": listed("ps pgrep free uptime w pidof vmstat"),
    "util-linux 2.38": listed("column rev hexdump lscpu lsblk whereis findmnt"),
    "psmisc 23.6": listed("pstree"),
    "ncurses 6.4": listed("clear"),
    "dpkg 1.21": listed("dpkg dpkg-query"),
    "bsdmainutils 12": listed("cal ncal"),
    "binutils 2.40": listed("strings nm readelf size"),
    "file 5.44": listed("file"),
    "hostname 3.23": listed("hostname"),
    "glibc 2.36": listed("locale getconf iconv"),
    "bc 1.07": listed("bc"),
    "perl 5.36": listed("shasum"),
    "vim 9.0": listed("xxd"),
    "debianutils 5.7": listed("which"),
    "tree 2.1": listed("tree"),
    "fd 8.6": listed("fd fdfind"),
    "git 2.39": listed("git"),
    "tar 1.34": listed("tar"),
    "gzip 1.12": listed("gzip gunzip zcat zgrep"),
    "bzip2 1.0": listed("bzip2 bunzip2 bzcat"),
    "xz 5.4": listed("xz unxz xzcat"),
    "unzip 6.0": listed("unzip zipinfo"),
    "pip 23.0": listed("pip pip3"),
    "bash 5.2": listed("""
        : true false echo printf test [ type times wait jobs read set command exit return break continue
        time ulimit umask shopt alias help
    """),
}
"""Package and version, with its programs. An option that a newer version adds is not on any list until the
row was checked again; programs of busybox and BSD know fewer options, and refuse the others."""
