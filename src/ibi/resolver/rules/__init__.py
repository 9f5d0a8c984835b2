"""Rules of a resolver: values in, values out. No I/O."""
