"""Programs that run in the background, each on a pseudo terminal, watched over by one supervisor.

What a holder and the supervisor run on is the standard library alone, so that each costs a few megabytes.
"""
