"""What every part of cladify stands on and nothing in it knows of trees: checks, files, threads, progress."""
