"""Reading a taxonomy: functions of a :class:`~cladify.taxonomy._read.snapshot.Snapshot`."""
