"""The operating system made safe: processes, files, locks, git, paths."""
