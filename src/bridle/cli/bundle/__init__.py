"""`bridle bundle`: one file that installs bridle without network."""
