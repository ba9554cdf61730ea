"""What extends bridle from files and packages: skills, commands, agents, output styles, themes, plugins."""
