"""Front ends: print mode, host programs, the terminal and remote control."""
