"""What `make test` and `make test-deep` are made of: docs/building.md tells how they are used.

  job.py       one thing that is run and counted
  plan.py      every job there is, its section, and which lane it is in
  pick.py      the jobs that a name selects
  times.py     how long a job takes, and how long all of them together
  schedule.py  runs jobs beside each other, builds behind everything else"""
