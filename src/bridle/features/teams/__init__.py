"""Teams: messages between agents and sessions, and teammates in processes of their own."""
