"""The parts of tools/check-fuzz."""
