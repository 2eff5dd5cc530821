"""Names with known duplicates, made by code: companies, and products whose numbers tell them apart."""

from __future__ import annotations

import random
from collections.abc import Callable

__all__ = ["companies", "products"]

_SYLLABLES = [
    a + b
    for a in [
        "b",
        "c",
        "d",
        "f",
        "g",
        "h",
        "k",
        "l",
        "m",
        "n",
        "p",
        "r",
        "s",
        "t",
        "v",
        "w",
        "br",
        "kr",
        "st",
        "tr",
        "sch",
    ]
    for b in ["a", "e", "i", "o", "u", "an", "er", "ol", "in"]
]
_TRADES = [
    "consulting",
    "engineering",
    "logistics",
    "software",
    "foods",
    "textiles",
    "motors",
    "energy",
    "capital",
    "holding",
    "pharma",
    "systems",
    "trading",
    "construction",
    "media",
    "insurance",
    "airlines",
    "chemicals",
    "electronics",
    "hotels",
    "furniture",
    "steel",
    "mining",
    "bank",
    "shipping",
    "security",
    "design",
    "analytics",
    "robotics",
    "packaging",
    "dairy",
    "printing",
    "optics",
    "solar",
    "water",
    "education",
    "travel",
]
_CITIES = [
    "Berlin",
    "Lyon",
    "Porto",
    "Austin",
    "Leeds",
    "Malmö",
    "Graz",
    "Turku",
    "Utrecht",
    "Gdańsk",
    "Sevilla",
    "Boston",
    "Zürich",
    "Kraków",
    "Nice",
    "Perth",
]
_FORMS = [
    ["Inc.", "Inc", "Incorporated"],
    ["Ltd.", "Limited", "Ltd"],
    ["GmbH", "G.m.b.H.", "GmbH & Co. KG"],
    ["S.A.", "SA"],
    ["LLC", "L.L.C."],
    ["Corp.", "Corporation", "Corp"],
    ["AG"],
    ["B.V.", "BV"],
]
_SHORT = {
    "international": "intl",
    "engineering": "eng",
    "systems": "sys",
    "construction": "constr",
    "insurance": "ins",
    "brothers": "bros",
    "manufacturing": "mfg",
    "electronics": "electr",
    "and": "&",
    "consulting": "cons.",
}
_ACCENTS = {"a": "á", "e": "é", "o": "ö", "u": "ü", "i": "í", "n": "ñ"}
_KINDS = [
    "phone",
    "laptop",
    "camera",
    "tablet",
    "printer",
    "drill",
    "monitor",
    "speaker",
    "watch",
    "router",
    "headset",
    "toaster",
]
_COLOURS = ["black", "white", "silver", "blue", "red", "green"]


def _word(rng: random.Random) -> str:
    return "".join(rng.choice(_SYLLABLES) for _ in range(rng.randint(2, 3)))


def _typo(text: str, rng: random.Random) -> str:
    """One letter left out, doubled, changed, or swapped with the next one; digits stay."""
    places = [i for i, char in enumerate(text) if char.isalpha()]
    if len(places) < 4:
        return text
    at = rng.choice(places[:-1])
    kind = rng.randrange(4)
    if kind == 0:
        return text[:at] + text[at + 1 :]
    if kind == 1:
        return text[:at] + text[at] + text[at:]
    if kind == 2:
        return text[:at] + rng.choice("abcdefghijklmnoprstuvw") + text[at + 1 :]
    if text[at + 1].isalpha():
        return text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    return text


def _cased(text: str, rng: random.Random) -> str:
    return rng.choice([str.upper, str.lower, str.title, str, str])(text)


def _made(
    n: int, seed: int, entity: Callable[..., list[str]], rewritten: Callable[..., str]
) -> tuple[list[str], list[int]]:
    """n names: half of the entities have one, the others two to six."""
    rng = random.Random(seed)
    names, truth, known = [], [], set()
    while len(names) < n:
        parts = entity(rng)
        if tuple(parts) in known:
            continue
        known.add(tuple(parts))
        for _ in range(1 if rng.random() < 0.5 else rng.randint(2, 6)):
            names.append(rewritten(parts, rng))
            truth.append(len(known))
    order = rng.sample(range(n), n)
    return [names[i] for i in order], [truth[i] for i in order]


def companies(n: int, seed: int = 0) -> tuple[list[str], list[int]]:
    """Names of companies, written as people write them, and which company each is."""
    rng = random.Random(seed + 1)
    families = [_word(rng) for _ in range(max(50, n // 6))]

    def entity(rng: random.Random) -> list[str]:
        stem = [rng.choice(families).title()]
        if rng.random() < 0.3:
            stem += ["and", rng.choice([rng.choice(families).title(), "Brothers", "Sons"])]
        middle = [rng.choice(_TRADES).title()] * (rng.random() < 0.8) + ["International"] * (rng.random() < 0.1)
        city = [rng.choice(_CITIES)] * (rng.random() < 0.3)
        return [*stem, *middle, *city, str(rng.randrange(len(_FORMS)))]

    def rewritten(parts: list[str], rng: random.Random) -> str:
        words, forms = list(parts[:-1]), _FORMS[int(parts[-1])]
        if rng.random() < 0.2:
            words = [_SHORT.get(word.lower(), word) for word in words]
        if rng.random() < 0.12 and len(words) > 1:
            at = rng.randrange(len(words) - 1)
            words[at], words[at + 1] = words[at + 1], words[at]
        if rng.random() < 0.05 and len(words) > 2:
            words.pop()
        if rng.random() < 0.75:
            words.append(rng.choice(forms))
        text = " ".join(words)
        while rng.random() < 0.3:
            text = _typo(text, rng)
        if rng.random() < 0.1:
            at = rng.choice([i for i, char in enumerate(text) if char.lower() in _ACCENTS] or [0])
            text = text[:at] + _ACCENTS.get(text[at].lower(), text[at]) + text[at + 1 :]
        if rng.random() < 0.15:
            text = text.replace(" ", "-", 1) if rng.random() < 0.5 else text.replace(" ", ", ", 1)
        return _cased(text, rng)

    return _made(n, seed, entity, rewritten)


def products(n: int, seed: int = 0) -> tuple[list[str], list[int]]:
    """Names of products: "Stako Phone 5 64GB black" is another one than "Stako Phone 6 64GB black"."""
    rng = random.Random(seed + 2)
    brands = [_word(rng).title() for _ in range(40)]

    def entity(rng: random.Random) -> list[str]:
        model = rng.choice([str(rng.randint(2, 12)), f"{rng.choice('ABGSX')}{rng.randint(10, 990)}"])
        size = [f"{2 ** rng.randint(4, 9)}GB"] * (rng.random() < 0.4)
        return [rng.choice(brands), rng.choice(_KINDS).title(), model, *size, rng.choice(_COLOURS)]

    def rewritten(parts: list[str], rng: random.Random) -> str:
        words = list(parts)
        if rng.random() < 0.15:
            words.insert(0, words.pop())
        if rng.random() < 0.3:
            words.append(rng.choice(["new", "original", "(boxed)", "with charger"]))
        text = " ".join(words)
        if rng.random() < 0.3:
            text = text.replace("GB", " GB")
        if rng.random() < 0.25:
            text = _typo(text, rng)
        return _cased(text, rng)

    return _made(n, seed, entity, rewritten)
