"""The proved parts: which files are weakened, and which scenarios must notice.

A scenario is named as for weft-check: itself, its group (its file in check/scenarios without .c), or a pattern with *.
What a part is used by comes after its own scenarios, as a second line of defence."""

PARTS = {
    "ring": {"files": ["src/queue/ring.h", "src/queue/ring.c"], "scenarios": ["ring", "ring_claims*"]},
    "deque": {"files": ["src/queue/deque.h", "src/queue/deque.c"], "scenarios": ["deque", "deque_claims*"]},
    "line": {"files": ["src/queue/line.h", "src/queue/line.c"], "scenarios": ["line"]},
    "inject": {"files": ["src/queue/inject.h", "src/queue/inject.c"], "scenarios": ["inject"]},
    "lock": {"files": ["src/queue/lock.h", "src/queue/lock.c"], "scenarios": ["lock", "inject", "parker"]},
    "mpsc": {"files": ["src/queue/mpsc.h", "src/queue/mpsc.c"], "scenarios": ["mpsc", "ending"]},
    "idle": {"files": ["src/queue/idle.h", "src/queue/idle.c"], "scenarios": ["idle", "growth_searchers", "find_batch_search*"]},
    "parker": {"files": ["src/queue/parker.h", "src/queue/parker.c"], "scenarios": ["parker", "mpsc", "idle", "poller"]},
    "posts": {"files": ["src/queue/posts.h", "src/queue/posts.c", "src/queue/visitors.h"], "scenarios": ["posts"]},
    "entry": {"files": ["src/queue/entry.h"], "scenarios": ["ring", "deque"]},
    "state": {"files": ["src/proc/state.h", "src/proc/state.c"], "scenarios": ["state", "claims", "monitor", "interrupt", "table_guess*", "pinned"]},
    "section": {"files": ["src/proc/section.h"], "scenarios": ["section", "table", "growth"]},
    "table": {"files": ["src/proc/table.h", "src/proc/table.c"], "scenarios": ["section", "table", "growth"]},
    "policy": {"files": ["src/sched/policy.c", "src/sched/ready.c"], "scenarios": ["wake", "handoff", "find", "growth", "pinned"]},
    "find": {"files": ["src/sched/find.c"], "scenarios": ["find", "growth", "resize", "shutdown", "poller"]},
    "send": {"files": ["src/sched/sched.h", "src/life/spawn.h", "src/mail/send.h", "src/mail/send.c", "src/step/step.c", "src/sched/commit.c", "src/life/cancel.c"], "scenarios": ["ending", "table", "wake", "handoff", "growth", "sysmon", "router"]},
    "spawn": {"files": ["src/life/block.c", "src/life/spawn.c", "src/life/init.c", "src/life/end.c"], "scenarios": ["ending", "shutdown", "table", "growth"]},
    "stop": {"files": ["src/runtime/stop.c"], "scenarios": ["shutdown", "growth"]},
    "worker": {"files": ["src/thread/worker.c"], "scenarios": ["growth", "resize", "compensate", "find", "shutdown", "pinned", "relief", "lane"]},
    "oscall": {"files": ["src/thread/oscall.h", "src/thread/oscall.c"], "scenarios": ["oscall"]},
    "netpoll": {"files": ["src/sched/netpoll.h", "src/sched/netpoll.c"], "scenarios": ["poller"]},
    "preempt": {"files": ["src/thread/stopped.c"], "scenarios": ["preempt", "growth", "relief"]},
    "sysmon": {"files": ["src/sched/sysmon_sleep.c"], "scenarios": ["sysmon"]},
    "interrupt": {"files": ["src/life/interrupt.h", "src/life/interrupt.c"], "scenarios": ["interrupt"]},
    "monitor": {"files": ["src/life/monitor.h", "src/life/monitor.c", "src/life/zombie.h", "src/life/zombie.c"], "scenarios": ["monitor", "zombie"]},
    "lane": {"files": ["src/mail/lane.h", "src/mail/lane.c", "src/sched/timer_event.c"], "scenarios": ["lane", "growth_lane"]},
    "timers": {"files": ["src/time/timer.h", "src/time/timers.c"], "scenarios": ["timers", "lane"]},
    "pool": {"files": ["src/mem/pool.h", "src/mem/pool_chunk.h", "src/mem/pool.c", "src/mem/give_back.c"], "scenarios": ["pool"]},
    "forkjoin": {"files": ["src/forkjoin/region.h", "src/forkjoin/region.c"], "scenarios": ["forkjoin"]},
    "synch2": {"files": ["src/sync/synch2.h", "src/sync/synch2.c"], "scenarios": ["synch2"]},
    "synch2_park": {"files": ["src/sync/synch2_park.c"], "scenarios": ["synch2_parked*"]},
    "wait": {"files": ["src/wait/wait.h", "src/wait/wait.c"], "scenarios": ["wait"]},
    "channel": {"files": ["src/wait/waiters.h", "src/sync/chan.h", "src/sync/channel.c", "src/sync/select.c"], "scenarios": ["channel", "select"]},
    "readiness": {"files": ["src/net/readiness.h", "src/net/readiness.c"], "scenarios": ["poller_readiness"]},
    "fdref": {"files": ["src/net/fdref.h"], "scenarios": ["poller_fdref"]},
    "mutex": {"files": ["src/sync/mutex.h", "src/sync/mutex.c", "src/sync/cond.c"], "scenarios": ["mutex"]},
    "gates": {"files": ["src/sync/sem.c", "src/sync/rwlock.c", "src/sync/once.c", "src/sync/waitgroup.c"], "scenarios": ["gates"]},
}

# Where proved parts live: a file here that could be weakened must belong to one of them.
PLACES = ["src/queue/*.[ch]", "src/proc/*.[ch]", "src/sched/*.[ch]", "src/thread/*.[ch]", "src/life/*.[ch]", "src/mail/*.[ch]", "src/step/*.[ch]",
          "src/runtime/*.[ch]", "src/time/*.[ch]", "src/mem/pool*.[ch]", "src/mem/give_back.c", "src/sync/*.[ch]", "src/wait/wait*.[ch]",
          "src/forkjoin/region.[ch]", "src/net/readiness.[ch]", "src/net/fdref.h"]
# Except these, which no scenario runs, or runs against anything: real threads test them.
UNPROVED = {
    "src/mail/send_after.c": "messages that are sent later: each under its own lock",
    "src/thread/sysmon.c": "a thread that looks after the others: what it does to them is proved in call, timers and worker",
    "src/life/context.c": "contexts: a counted reference, and a flag that is asked under locks or behind the fences of spawn.c",
    "src/sched/door.c": "doors: locks; the check configuration has its own, in small_runtime.c",
    "src/thread/thread.c": "a list under a lock; the check configuration has its own threads, in small_runtime.c",
    "src/runtime/stats.c": "numbers for people, read in passing",
    "src/runtime/report.c": "likewise",
    "src/runtime/deadlock.c": "looks in passing, twice, while nothing moves",
    "src/mail/post.c": "the way to a runtime: its parts are proved in posts, mpsc and parker",
    "src/sched/atfork.h": "a flag of a program with one thread",
    "src/sched/atfork.c": "likewise",
}

# Made for the self-test; its verdicts are known.
TOY = {"files": ["tools/mutants_toy/toy.h", "tools/mutants_toy/toy.c"], "scenarios": ["toy_scenarios"]}
TOY_UNITS = ["tools/mutants_toy/toy.c", "tools/mutants_toy/toy_scenarios.c"]
