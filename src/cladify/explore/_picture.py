"""Pictures of items: files that were named at the start, or arrays, which go out as PNG."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from cladify.errors import FileError, InvalidInput

__all__ = ["picture_of", "thumbnail"]

_STARTS = {
    b"\x89PNG": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"RIFF": "image/webp",
}
_MOST = 20_000_000
_SMALL = 4000  # bytes of a picture that is no smaller as a thumbnail


def picture_of(image: Any) -> tuple[bytes, str]:
    """The bytes of a picture and its type.

    Parameters
    ----------
    image : path, or array of shape (height, width), (height, width, 3) or (height, width, 4)
        Numbers that are no bytes are stretched from the least to the largest.
    """
    if isinstance(image, np.ndarray):
        return png(image), "image/png"
    path = Path(str(image))
    try:
        with path.open("rb") as file:
            content = file.read(_MOST + 1)
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}.") from None
    kind = next((kind for start, kind in _STARTS.items() if content.startswith(start)), None)
    if kind is None or len(content) > _MOST:
        raise FileError(f"{path} is no PNG, JPEG, GIF or WebP picture of at most 20 MB.")
    return content, kind


def thumbnail(image: Any, side: int = 64) -> tuple[bytes, str] | None:
    """A small copy of a picture and its type; None where it cannot be read, or is large and Pillow is missing."""
    if isinstance(image, np.ndarray):
        step = max(1, -(-max(image.shape[:2]) // side))
        return png(image[::step, ::step]), "image/png"
    try:
        content, kind = picture_of(image)
    except FileError:
        return None
    if len(content) <= _SMALL:
        return content, kind
    try:
        from PIL import Image

        with Image.open(io.BytesIO(content)) as opened:
            opened.thumbnail((side, side))
            out = io.BytesIO()
            opened.convert("RGB").save(out, "JPEG", quality=80)
    except Exception:  # a picture of the user that Pillow cannot read, or no Pillow: the text stands for it
        return None
    return out.getvalue(), "image/jpeg"


def png(pixels: np.ndarray) -> bytes:
    """An array as a PNG file: grey, RGB or RGBA.

    >>> png(np.zeros((2, 3)))[:4]
    b'\\x89PNG'
    """
    colors = {2: 0, 3: {3: 2, 4: 6}.get(pixels.shape[-1])}.get(pixels.ndim)
    if colors is None or pixels.dtype.kind not in "uifb" or 0 in pixels.shape:
        raise InvalidInput(f"a picture has shape (height, width), or 3 or 4 numbers a pixel, got {pixels.shape}.")
    if pixels.dtype != np.uint8:
        values = np.nan_to_num(pixels.astype(np.float64))
        low, high = float(values.min()), float(values.max())
        pixels = np.round((values - low) * (255 / max(high - low, 1e-300))).astype(np.uint8)
    rows = np.ascontiguousarray(pixels).reshape(len(pixels), -1)
    plain = np.hstack([np.zeros((len(rows), 1), np.uint8), rows]).tobytes()  # every row begins with its filter: none
    header = struct.pack(">2I5B", pixels.shape[1], pixels.shape[0], 8, colors, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(plain)) + _chunk(b"IEND", b"")


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
