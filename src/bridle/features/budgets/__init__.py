"""What may be spent: a ledger on disk, and a number of tokens that a prompt asks for."""
