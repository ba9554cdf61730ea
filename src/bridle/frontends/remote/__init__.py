"""Remote control: a session serves itself to browsers and to other sessions."""
