"""`bridle hub`: the server for the sessions of many machines."""
