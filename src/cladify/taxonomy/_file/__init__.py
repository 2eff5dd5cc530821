"""The ``.taxonomy`` file."""
