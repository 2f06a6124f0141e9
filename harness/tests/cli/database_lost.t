#!/usr/bin/env python3
"""TAP: PostgreSQL is killed at the moments at which no window is open: while the table is seeded, put back or counted,
between cells, while a server is stopped. What was under way is done again, a bounded number of times."""

import os
import signal
import subprocess
import time

from study import ROOT, Study, short_database_study
from tap import RESTBENCH, Tap

t = Tap()
os.chmod(t.folder, 0o755)
STATE = t.path("state")
PATIENCE = 300  # seconds; the machine may be busy
SQL = {key: os.path.join(ROOT, "sql", f"{key}.sql") for key in ("schema", "seed", "reset", "checksum")}


def slow(name):
    """One of the SQL files with two seconds at its beginning in which it can be hit."""
    path = t.path(f"{name}.sql")
    with open(SQL[name], encoding="utf-8") as file, open(path, "w", encoding="utf-8") as copy:
        copy.write("SELECT pg_sleep(2);\n" + file.read())
    return path


def database(**changes):
    return {"kind": "postgresql", "table": "clienti", "rows": 100000, **SQL, **changes}


def postmaster(state=STATE):
    try:
        with open(os.path.join(state, "pg", "data", "postmaster.pid"), encoding="utf-8") as file:
            return int(file.readline())
    except (OSError, ValueError):
        return 0


def title(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().rstrip(b"\0 ").decode(errors="replace")
    except OSError:
        return ""


def asleep(study):
    """The backend in which a slow file's first statement runs."""
    found = [pid for pid in study.processes() if title(pid).startswith("postgres: restbench restbench")
             and title(pid).endswith("SELECT")]
    time.sleep(0.3)
    return [pid for pid in found if title(pid).endswith("SELECT")]


def losses(study):
    """How often the run has said so."""
    return len([line for line in study.err().splitlines() if "the database was lost" in line and "note " in line])


def hit(study, process, moment, victim=postmaster):
    """Kills at that moment; False when it did not come, or the run did not say afterwards that it goes on."""
    if not study.wait_for(lambda: process.poll() is not None or moment(), PATIENCE) or process.poll() is not None:
        return False
    said = losses(study)
    os.kill(victim(), signal.SIGKILL)
    return study.wait_for(lambda: losses(study) > said, 60)


def check_whole(study, process, name, times):
    t.is_(process.wait(PATIENCE), 0, f"{name}: the run comes to its end", study.err())
    t.is_(study.cells(), study.plan(), f"{name}: every cell once", study.err())
    t.is_(losses(study), times, f"{name}: each loss is told", study.err())
    t.is_((study.processes(), study.groups()), ([], []), f"{name}: nothing is left running")


# At the start: while the table is seeded, then while it is put back; by a backend's death, too.
study = short_database_study(t.path("start"), STATE, rounds=1, database=database(seed=slow("seed"), reset=slow("reset")))
process = study.start()
for what, victim in (("seeded", postmaster), ("seeded once more", lambda: asleep(study)[0]), ("put back", postmaster)):
    t.ok(hit(study, process, lambda: asleep(study), victim), f"killed while the table is {what}: it is done again",
         study.err())
# Between cells: putting the table back before the writing test.
study.wait_for(lambda: process.poll() is not None or "insert_100  warm-up" in study.now().get("now", ""), PATIENCE)
t.ok(hit(study, process, lambda: asleep(study)), "killed while the table is put back before a cell: it is done again",
     study.err())
check_whole(study, process, "start", 4)
cell = [d for d in study.details() if "kind" not in d][-1]
t.is_((cell["attempt"], ["the database was lost" in one["failed"] for one in cell["tries"]]), (2, [True]),
      "the cell tells that it was tried twice, and why", cell["tries"])

# While a server takes its time to stop: its work cannot be confirmed, and that is all.
study = Study(t.path("stop"), {"term": "term"}, rounds=2, database=database(),
              tests=[{"name": "ping", "path": "/ping", "database": True}])
study.add_server("term", "term", stop_timeout_s=3)
study.state = STATE
process = study.start()
t.ok(study.wait_for(lambda: process.poll() is not None or (study.csv() and not study.generators()), PATIENCE) and
     process.poll() is None, "a server is being stopped", study.err())
os.kill(postmaster(), signal.SIGKILL)
check_whole(study, process, "stop", 1)
t.is_([d["ok"] for d in study.details() if d.get("kind") == "reconciliation"][0], None,
      "what that server did is unknown, not zero")

# Killed again and again: an end, and a line that says it.
study = short_database_study(t.path("again"), STATE, rounds=1, database=database(reset=slow("reset")))
process = study.start()
kills = 0
while hit(study, process, lambda: asleep(study)):
    kills += 1
t.is_(process.wait(PATIENCE), 2, "a database that is killed again and again ends the run", study.err())
last = [line for line in study.err().splitlines() if line.startswith("restbench: ")]
t.ok(len(last) == 1 and "was lost 6 times" in last[0] and "--resume" in last[0], "in one line that says how to go on",
     study.err())
t.is_((study.processes(), study.groups()), ([], []), "again: nothing is left running")

# While it recovers from a crash: the process that recovers is killed, and the postmaster gives up.
for command in ("start", "seed"):
    subprocess.run([RESTBENCH, "db", command, "--state", STATE], check=True, capture_output=True)
os.kill(postmaster(), signal.SIGKILL)
starting = subprocess.Popen([RESTBENCH, "db", "start", "--state", STATE], stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True)
recovering = []
while not recovering and starting.poll() is None:
    recovering = [pid for pid in study.processes() if title(pid).startswith("postgres: startup")]
if recovering:
    os.kill(recovering[0], signal.SIGKILL)
t.is_((starting.wait(PATIENCE), bool(recovering)), (0, True), "killed while it recovers: it is started again",
      starting.stderr.read())
subprocess.run([RESTBENCH, "db", "stop", "--state", STATE], check=True, capture_output=True)

# Somebody else's database is waited for.
THEIRS = t.path("theirs")
subprocess.run([RESTBENCH, "db", "start", "--state", THEIRS], check=True, capture_output=True)
url = subprocess.run([RESTBENCH, "db", "url", "--state", THEIRS], check=True, capture_output=True,
                     text=True).stdout.strip()
command = open(f"/proc/{postmaster(THEIRS)}/cmdline", encoding="utf-8").read().rstrip("\0").split("\0")
command[command.index("-D") + 1] = os.path.join(THEIRS, "pg", "data")
owner = os.stat(os.path.join(THEIRS, "pg", "data"))
study = short_database_study(t.path("url"), t.path("state2"), rounds=1, seconds=1.0)
process = study.start("--database", url)
study.wait_for(lambda: process.poll() is not None or ("select_1  4" in study.now().get("now", "") and study.generators()),
               PATIENCE)
os.kill(postmaster(THEIRS), signal.SIGKILL)
t.ok(study.wait_for(lambda: "again " in study.err() or process.poll() is not None, 60), "their database is lost",
     study.err())
time.sleep(2)
theirs = subprocess.Popen(command, cwd="/", user=owner.st_uid, group=owner.st_gid, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL)
check_whole(study, process, "their database came back", 1)
t.has(study.err(), "each cell gets the mark affinity; to pin it: ", "that it is not pinned is said before")
cells = [d for d in study.details() if "kind" not in d]
t.is_({d["cpu"]["postgres"]["source"] for d in cells}, {"proc"}, "what it costs is read where it lives")
used = [d["csv"]["cpu_postgres_s"] for d in cells if d["test"] != "ping"]
t.ok(used and min(used) > 0, "and is not zero", used)
theirs.send_signal(signal.SIGINT)
theirs.wait(60)
subprocess.run([RESTBENCH, "db", "stop", "--state", THEIRS], check=False, capture_output=True)

t.done()
