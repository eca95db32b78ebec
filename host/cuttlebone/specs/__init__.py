"""What a host serves: spec files, the blocks that they run, what inputs and results must look like."""
