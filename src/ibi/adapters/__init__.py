"""What touches the world: one library a file."""
