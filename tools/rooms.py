"""The rooms of src/, from the bottom up: which may include and call which (tools/check-includes, tools/check-calls)."""

# A lower number is a lower room; rooms with the same number know nothing of each other.
LEVELS = {
    "base": 0,
    "sys": 1,
    "queue": 2, "ctx": 2,
    "mem": 3, "time": 3,
    "proc": 4,
    "sched": 5,
    "thread": 6, "life": 6,
    "fiber": 7,
    "wait": 8, "preempt": 8,
    "mail": 9, "scope": 9, "sync": 9, "forkjoin": 9, "net": 9,
    "step": 10, "name": 10, "io": 10, "registry": 10, "select": 10,
    "os": 11, "super": 11,
    "command": 12, "server": 12,
    "runtime": 13,
}


def may_use(room, other):
    """Whether files of `room` may include headers of `other` and call its functions."""
    return room == other or LEVELS[other] < LEVELS[room]
