"""A conversation at work: the one implementation behind Session and AsyncSession."""
