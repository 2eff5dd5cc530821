"""The folder of an online tree: one SQLite database, one owner."""

from cladify.online._storage.database import NAME, Change, Content, Store, connect, files_of, read_folder
from cladify.online._storage.packing import pack, unpack

__all__ = ["NAME", "Change", "Content", "Store", "connect", "files_of", "pack", "read_folder", "unpack"]
