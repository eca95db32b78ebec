"""Jobs: specs, their life in the store, the queue, the step loop, and what watchers see."""
