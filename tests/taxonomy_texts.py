"""Texts of three kinds."""

import numpy as np

KINDS = {
    "fruit": ["apple", "pear", "plum", "cherry", "quince"],
    "metal": ["iron", "copper", "zinc", "nickel", "tin"],
    "music": ["violin", "cello", "flute", "oboe", "harp"],
}
DETAILS = ["old", "small", "heavy", "cheap", "rare", "famous"]


def make_texts(n: int = 180, seed: int = 0) -> tuple[list[str], np.ndarray]:
    """Short texts of three kinds, each with a word of its kind, a thing and a detail."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    kinds = list(KINDS)
    texts = [
        f"{rng.choice(DETAILS)} {kinds[k]} {rng.choice(KINDS[kinds[k]])}, {kinds[k]} {rng.choice(KINDS[kinds[k]])}"
        for k in y
    ]
    return texts, y
