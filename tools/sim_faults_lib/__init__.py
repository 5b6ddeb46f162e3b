"""What tools/sim-faults is made of: units (the sources as one object for each room, and of a patch only those that it changes)."""
