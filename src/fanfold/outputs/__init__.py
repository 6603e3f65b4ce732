"""Outputs: what tools gave back, kept whole and found again, in memory that does not grow with them."""
