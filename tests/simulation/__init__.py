"""A world in one thread: the real rules, on simulated clocks, disks and networks."""
