"""Public methods that give a taxonomy to other programs, or take one from them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Self

from cladify._kit.atomic import atomic_write
from cladify._kit.files import reading
from cladify.errors import FileError, InvalidInput
from cladify.taxonomy._file.store import Parts
from cladify.taxonomy._reading import Readable
from cladify.taxonomy._share.outlines import KINDS as OUTLINES
from cladify.taxonomy._share.outlines import write_outline
from cladify.taxonomy._share.scheme import Scheme, from_dict, scheme_of, snapshot_of
from cladify.taxonomy._share.skos import KINDS as SKOS
from cladify.taxonomy._share.skos import check_base, read_skos, write_jsonld, write_turtle

__all__ = ["EXPORTS", "Shareable"]

#: Endings that :meth:`Shareable.export` knows.
EXPORTS = (*SKOS, *OUTLINES)


class Shareable(Readable):
    """A taxonomy that other programs can read."""

    def export(self, path: str | os.PathLike[str], *, items: bool = True, base: str | None = None) -> None:
        """Write the taxonomy for other programs, in the format that the ending says.

        ``.ttl`` and ``.jsonld`` are SKOS as RDF Turtle and JSON-LD, with groups, names, keywords, heights, levels,
        items and ids; :meth:`from_skos` reads them back. ``.md`` (Markdown), ``.opml`` and ``.mmd`` (a Mermaid mind
        map) are outlines of the names. Columns, confidences and the map stay in the ``.taxonomy``.

        Parameters
        ----------
        path : str or path
        items : bool
            With SKOS: also the items, as resources whose ``dcterms:subject`` is their group.
        base : str, optional
            With SKOS: how all addresses begin, such as ``https://example.org/topics/``.
        """
        kind = Path(path).suffix.lower()
        if kind not in EXPORTS:
            raise FileError(f"cannot write a taxonomy to {path}: known endings are {', '.join(EXPORTS)}.")
        base = check_base(base)
        with atomic_write(path, "w") as file:
            if kind in OUTLINES:
                write_outline(file, self._now, kind)
            else:
                write = write_turtle if kind == ".ttl" else write_jsonld
                write(file, scheme_of(self._now, items), base)

    @classmethod
    def from_skos(cls, path: str | os.PathLike[str]) -> Self:
        """The taxonomy in a SKOS file, ``.ttl`` or ``.jsonld``, of cladify or of any other program.

        Concepts are the groups; resources with a ``dcterms:subject`` are the items. Where there are none, the concepts
        with nothing below them are. Needs ``cladify[skos]``.
        """
        scheme = read_skos(path)
        with reading(path, "SKOS"):
            try:
                return cls._of_scheme(scheme)
            except InvalidInput as error:
                raise FileError(f"{path} is not a taxonomy: {error}") from None

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """The taxonomy in what ``to_dict(nested=False, items=True)`` gave.

        >>> import cladify
        >>> taxonomy = cladify.Taxonomy.from_texts(["red apple", "green apple", "old engine", "new engine"], min_size=2)
        >>> again = cladify.Taxonomy.from_dict(taxonomy.to_dict(nested=False, items=True))
        >>> again.names == taxonomy.names, again.items == taxonomy.items
        (True, True)
        """
        return cls._of_scheme(from_dict(data))

    @classmethod
    def _of_scheme(cls, scheme: Scheme) -> Self:
        made = cls.__new__(cls)
        made._begin(Parts(snapshot_of(scheme), {"method": "given"}, None, None))
        return made

    def _begin(self, parts: Parts) -> None:
        raise NotImplementedError

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """:meth:`table`, for all that takes Arrow: ``polars.DataFrame(taxonomy)``, ``pyarrow.table(taxonomy)``."""
        return self.table(form="arrow").__arrow_c_stream__(requested_schema)
