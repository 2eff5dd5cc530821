"""Benchmarks: named cases, peers in the same run, ratios out. Run with ``python -m benchmarks``; see README.md."""
