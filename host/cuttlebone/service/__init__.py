"""All that anybody may ask of a host."""
