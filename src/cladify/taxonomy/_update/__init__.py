"""A taxonomy kept up to date: groups matched to their successors, and local work on what changed."""
