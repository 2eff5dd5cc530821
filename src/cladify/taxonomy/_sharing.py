"""Public methods that give a taxonomy to other programs, or take one from them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from cladify._kit.atomic import atomic_write
from cladify._kit.files import reading
from cladify.errors import FileError, InvalidInput
from cladify.taxonomy._file.store import Parts
from cladify.taxonomy._kept import keep
from cladify.taxonomy._reading import Readable
from cladify.taxonomy._share.outlines import KINDS as OUTLINES
from cladify.taxonomy._share.outlines import write_outline
from cladify.taxonomy._share.scheme import Scheme, from_dict, scheme_of, snapshot_of
from cladify.taxonomy._share.skos import KINDS as SKOS
from cladify.taxonomy._share.skos import check_base, read_skos, write_jsonld, write_turtle
from cladify.taxonomy._sources import Options, Source, read_table

__all__ = ["EXPORTS", "Shareable"]

_IMAGES = (
    "a folder of images needs vectors of them: give embedder='module:function', a function from a list of paths to an "
    "array of one row a path."
)
#: Endings that :meth:`Shareable.export` knows.
EXPORTS = (*SKOS, *OUTLINES)


class Shareable(Readable):
    """A taxonomy that other programs can read."""

    info: dict[str, Any]

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
    def from_table(
        cls,
        table: Any,
        *,
        text: Any = None,
        vectors: str | Sequence[str] | None = None,
        id: str | None = None,
        label: str | None = None,
        encoding: str | None = None,
        sheet: str | None = None,
        embedder: Any = "auto",
        **options: Any,
    ) -> Self:
        """The taxonomy of the rows of a frame, a file or a folder; every column is kept.

        What is not named is found: the only column of vectors, a column of texts, a column of ids. ``info["source"]``
        says what was taken for what.

        Parameters
        ----------
        table : frame, list of objects, mapping of columns, or path
            pandas and polars frames, and all that gives an Arrow stream (pyarrow, DuckDB, ADBC); any file or folder
            that ``cladify taxonomy`` reads.
        text : str, list or mapping, optional
            Column with the texts, or several: ``["title", "body"]``. ``{"title": 2, "body": 1}``, or
            ``"title:2,body"``, lets the title count as if it stood there twice. The first is what a row is shown as.
        vectors : str or list of str, optional
            Column of lists of numbers, or columns of numbers. Without vectors, the texts are embedded.
        id : str, optional
            Column of values that are all different; :meth:`table` has it, or the index of a pandas frame.
        label : str, optional
            Column of known classes, which :meth:`report` compares with.
        encoding, sheet : str, optional
            Of a text file; of a workbook or database.
        embedder : str or callable
            As for :meth:`from_texts`.
        **options
            As for :meth:`fit`.

        Examples
        --------
        >>> import cladify
        >>> texts = ["red apple", "green apple", "old engine", "new engine"]
        >>> rows = [{"key": i, "body": text} for i, text in enumerate(texts)]
        >>> taxonomy = cladify.Taxonomy.from_table(rows, text="body", id="key", min_size=2)
        >>> taxonomy.ids, taxonomy.info["source"]["taken"]
        ([0, 1, 2, 3], 'texts: body, ids: key')
        """
        source = read_table(table, text, ids=id, label=label, vectors=vectors, options=Options(encoding, sheet))
        return cls.of_source(source, embedder=embedder, **options)

    @classmethod
    def of_source(cls, source: Source, *, embedder: Any, items: Any = None, **options: Any) -> Self:
        """The taxonomy of a table whose columns are told apart."""
        name = source.text_column
        shown = items if items is not None or name is None else source.column(name)
        kept = keep(source.n_rows, source.ids, source.kept_beside(items), (source.frame,))
        given: dict[str, Any] = {"ids": kept}
        if source.vectors is not None:
            texts = source.texts if source.text_columns else None
            made = cls.fit(source.vectors, shown, texts=texts, **given, **options)
        else:
            if isinstance(embedder, str) and embedder in ("auto", "tfidf") and source.is_images:
                raise InvalidInput(_IMAGES)
            made = cls.from_texts(source.texts, items=shown, embedder=embedder, **given, **options)
        made.info["source"] = {"path": source.path, "column": source.text_spec, "taken": source.taken()}
        if source.label_column is not None:
            made.info["label"] = source.label_column
        return made

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

    @classmethod
    def fit(cls, X: Any, items: Any = None, **options: Any) -> Self:
        raise NotImplementedError

    @classmethod
    def from_texts(cls, texts: Any, **options: Any) -> Self:
        raise NotImplementedError

    def _begin(self, parts: Parts) -> None:
        raise NotImplementedError

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """:meth:`table`, for all that takes Arrow: ``polars.DataFrame(taxonomy)``, ``pyarrow.table(taxonomy)``."""
        return self.table(form="arrow").__arrow_c_stream__(requested_schema)
