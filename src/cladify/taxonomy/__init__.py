"""Taxonomies: trees that people read, with items, names, levels and edits in one safe file."""

from cladify.taxonomy._edits import Edit, Edits
from cladify.taxonomy._file.check import check, rescue
from cladify.taxonomy._names.model import ModelNamer, NamingCost
from cladify.taxonomy._names.namer import ClusterView
from cladify.taxonomy._names.names import Keyword
from cladify.taxonomy._read.also import Also
from cladify.taxonomy._read.levels import Level
from cladify.taxonomy._read.snapshot import Examples
from cladify.taxonomy._read.table import Match
from cladify.taxonomy._read.trend import Burst, Trend
from cladify.taxonomy._report.labels import Agreement, LevelAgreement
from cladify.taxonomy._report.report import LookFirst, Report
from cladify.taxonomy._update.past import Change, Changes, Event, LostEdit
from cladify.taxonomy._updating import Update
from cladify.taxonomy.taxonomy import Taxonomy

__all__ = [
    "Agreement",
    "Also",
    "Burst",
    "Change",
    "Changes",
    "ClusterView",
    "Edit",
    "Edits",
    "Event",
    "Examples",
    "Keyword",
    "Level",
    "LevelAgreement",
    "LookFirst",
    "LostEdit",
    "Match",
    "ModelNamer",
    "NamingCost",
    "Report",
    "Taxonomy",
    "Trend",
    "Update",
    "check",
    "rescue",
]
