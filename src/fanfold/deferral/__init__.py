"""Tools that come when they are needed."""
