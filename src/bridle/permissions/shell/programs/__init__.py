"""Programs that commands name: their options, scripts and subcommands."""
