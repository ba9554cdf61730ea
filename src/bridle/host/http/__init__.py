"""An HTTP/1.1 client of our own, small enough for the way to the first request."""
