"""Files: vectors, items and labels in; results out, whole or not at all."""
