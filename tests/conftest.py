"""What all tests share."""

import os

from hypothesis import settings

# Before anything imports torch: threads that spin while they wait starve the other processes of a small machine, and
# tests start several at once.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# Machines that run tests are often busy; how long an example takes says nothing about the code.
settings.register_profile("kibitz", deadline=None)
settings.load_profile("kibitz")
