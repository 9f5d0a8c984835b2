"""Pages and feeds by which readers find items: home, search, browse, collections."""
