"""What runs inside the child of a script: few imports, since every script pays."""
