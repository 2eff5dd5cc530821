"""Taxonomy files compared and forged."""

import hashlib
import json
import zipfile

from cladify.taxonomy import Taxonomy

META = "cladify-taxonomy.json"
EDITS = "edits.json"


def same(first: Taxonomy, second: Taxonomy) -> bool:
    return (
        first.tree == second.tree
        and first.full == second.full
        and first.items == second.items
        and first.names == second.names
        and first.levels == second.levels
        and first.table().equals(second.table())
        and first.edits == second.edits
        and all(first.examples(v) == second.examples(v) for v in first.names)
        and all(first.keyword_table(v) == second.keyword_table(v) for v in first.names)
    )


def forge(path, change):
    """Rewrite a file with its header and members changed, and the checksums made right again."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    meta = json.loads(members.pop(META))
    change(meta, members)
    meta["sha256"] = {name: hashlib.sha256(data).hexdigest() for name, data in members.items() if name != EDITS}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(META, json.dumps(meta))
        for name, data in members.items():
            archive.writestr(name, data)
