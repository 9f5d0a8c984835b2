"""An archive and a resolver as one installation: set up, checked, backed up."""
