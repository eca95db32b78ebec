"""The way of a job from its submission to its end: queue, worker, step loop, journal."""
