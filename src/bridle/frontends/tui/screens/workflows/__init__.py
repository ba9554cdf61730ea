"""The screens of workflow runs."""
