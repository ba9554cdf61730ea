"""The user's start-up files of bash and zsh, read once by the shell that they are for."""
