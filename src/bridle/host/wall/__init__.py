"""The second wall: what only judgement allowed can do no more than it was judged to do."""
