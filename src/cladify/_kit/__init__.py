"""Helpers without knowledge of trees: checks of parameters, files, threads, progress."""
