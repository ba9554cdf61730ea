"""What runs inside the walls, before and beside a confined command: few imports, since every command pays."""
