"""Code that the commands of all programs share."""
