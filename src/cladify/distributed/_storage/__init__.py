"""Files of the distributed methods: the work folder of a run, and the folder of a tree."""
