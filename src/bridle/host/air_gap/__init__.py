"""No network but a few named services, enforced by the kernel."""
