"""Parts that screens are built from: panes, lists, pickers, tabs."""
