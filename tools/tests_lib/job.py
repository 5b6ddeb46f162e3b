"""A job: one command that is run and counted, and what has to be built for it."""


class Job:
    def __init__(self, section, name, command, *, needs=None, settings=None, limit=600, counted=True, deep=False):
        """`needs`: {preset: targets}. `counted`: the command ends with `N passed, N failed`; else its exit status is one result.
        `deep`: it belongs to `make test-deep`, not to `make test`."""
        self.section, self.name, self.command = section, name, [str(word) for word in command]
        self.needs, self.settings, self.limit = needs or {}, settings or {}, limit
        self.counted, self.deep = counted, deep


class Build(Job):
    """Builds as far as it goes: what could be built is still tested. Without targets it builds everything of the preset. `then` answers the jobs that are
    known only afterwards."""

    def __init__(self, preset, targets=(), deep=False, then=None):
        super().__init__("build", f"build {preset}", ["tools/build", preset, *targets], limit=1200, counted=False, deep=deep)
        self.preset, self.targets, self.then = preset, targets, then


def wanted(jobs):
    """{preset: targets} of all these together, in the order in which they name them."""
    found = {}
    for job in jobs:
        for preset, targets in job.needs.items():
            found.setdefault(preset, {}).update(dict.fromkeys(targets))
    return {preset: tuple(targets) for preset, targets in found.items()}
