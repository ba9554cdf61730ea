"""The second wall: what only judgment allowed can do no more than it was judged to do."""
