#!/bin/sh
# Runs a command with a /tmp of its own in memory where that may be set up, and with the usual one elsewhere. Tests
# write little and often, and on a disk they wait for it to arrive there more than for anything else.
case "$(pwd -P)/" in /tmp/*) exec "$@" ;; esac
if [ "$(id -u)" = 0 ] && awk '/^MemAvailable/ { exit $2 < 3000000 }' /proc/meminfo 2>/dev/null &&
    unshare --mount mount -t tmpfs none /tmp 2>/dev/null; then
    exec unshare --mount sh -c 'mount -t tmpfs -o mode=1777 none /tmp && exec "$@"' sh "$@"
fi
exec "$@"
