"""Plan mode: a plan is written and approved before anything is changed."""
