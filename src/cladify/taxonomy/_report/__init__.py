"""How good a taxonomy is: measures of its groups without labels, agreement with labels, and a page to read."""
