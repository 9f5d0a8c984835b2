"""The text of files: extracted by a process of its own, within limits of time and memory."""
