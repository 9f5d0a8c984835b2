"""Several programs as one installation: a resolver and an archive set up, checked and backed up."""
