"""The stages of the distributed methods: functions of a driver, and the tasks that they run on workers."""
