"""One thread, one model, many generations: text in, text out, one batch for all jobs."""
