"""Files and folders in permission decisions: paths, links, patterns, repositories."""
