#!/usr/bin/env python3
"""TAP: a run whose database is killed, is killed with it, or has no connections to give; and no secret is in an argument,
a log or a file of the run."""

import os
import re
import signal
import subprocess

from study import folder_of, short_database_study
from tap import RESTBENCH, Tap

t = Tap()
os.chmod(t.folder, 0o755)
STATE = t.path("state")
PATIENCE = 300  # seconds; the machine may be busy


def postmaster():
    with open(os.path.join(STATE, "pg", "data", "postmaster.pid"), encoding="utf-8") as file:
        return int(file.readline())


def in_phase(study, process, words):
    return study.wait_for(lambda: process.poll() is not None or
                          (words in study.now().get("now", "") and study.generators()), PATIENCE)


# The postmaster dies in a window, then everything at once, in the test that writes.
study = short_database_study(t.path("killed"), STATE, seconds=1.0)
plan = study.plan()
process = study.start()
in_phase(study, process, "round 1  c-reference  select_1  4")
os.kill(postmaster(), signal.SIGKILL)
t.ok(study.wait_for(lambda: "again " in study.err() or process.poll() is not None, PATIENCE), "a killed PostgreSQL is noticed",
     study.err())
in_phase(study, process, "insert_100  4")
kept = study.csv()
study.kill(process)
t.ok(study.wait_for(lambda: not [p for p in study.processes() if "/pg/" not in folder_of(p) + "/"], 30),
     "server and generator end with restbench")
got = t.run(*study.arguments("--resume"))
t.is_(got.status, 0, "the run goes on to its end", got.err)
t.is_((study.cells(), study.csv()[:len(kept)]), (plan, kept), "every cell once, what was finished is kept", got.err)
cell = [d for d in study.details() if "kind" not in d and d["test"] == "select_1"][0]
t.is_((cell["attempt"], len(cell["tries"])), (2, 1), "the cell in which PostgreSQL died was repeated")
t.ok(any("database was lost" in note for note in study.machine()["notes"]), "and the machine file tells it",
     study.machine()["notes"])
t.is_((study.processes(), study.groups()), ([], []), "nothing is left, PostgreSQL included")
got = t.run("verify", study.whole("_no-auth.csv")[0])
t.is_(got.status, 0, "the database confirms the rows of each cell: verify finds no fault", got.out + got.err)
subprocess.run([RESTBENCH, "db", "start", "--state", STATE], check=True, capture_output=True)
url = subprocess.run([RESTBENCH, "db", "url", "--state", STATE], check=True, capture_output=True,
                     text=True).stdout.strip()
first = subprocess.run(["psql", "-XAtq", url, "-c", "SELECT min(id) FROM clienti WHERE id > 100000"], check=False,
                       capture_output=True, text=True)
subprocess.run([RESTBENCH, "db", "stop", "--state", STATE], check=True, capture_output=True)
t.is_(first.stdout.strip(), "100001", "after all that the first row of the last writing cell has the first id", first.stderr)

# A stranger's session locks the table for the first of two tests: it is named, the server is not to blame.
study = short_database_study(t.path("locked"), STATE, rounds=1, seconds=1.0)
process = study.start()
in_phase(study, process, "ping  4")
url = subprocess.run([RESTBENCH, "db", "url", "--state", STATE], check=True, capture_output=True,
                     text=True).stdout.strip()
stranger = subprocess.Popen(["psql", "-XAtq", url + "?application_name=stranger"], stdin=subprocess.PIPE, text=True)
stranger.stdin.write("BEGIN; LOCK TABLE clienti IN ACCESS EXCLUSIVE MODE;\n")
stranger.stdin.flush()
t.ok(study.wait_for(lambda: "not measured" in study.err() or process.poll() is not None, PATIENCE),
     "a locked table: the cell fails within its limits", study.err())
stranger.kill()
stranger.wait()
t.is_(process.wait(PATIENCE), 1, "and the run goes on to its end", study.err())
failed = [d for d in study.details() if d.get("kind") == "failed"]
t.ok([d["test"] for d in failed] == ["select_1"] and "(stranger, user restbench, idle in transaction)" in
     failed[0]["reason"] and "LOCK TABLE clienti" in failed[0]["reason"], "who is in the way is named", failed)
t.is_([d[2] for d in study.cells()], ["ping", "insert_100"], "the other cells are measured")
got = t.run("verify", study.whole("_no-auth.csv")[0])
t.is_(got.status, 0, "verify knows of the cell that failed", got.out + got.err)
t.is_((study.processes(), study.groups()), ([], []), "nothing is left running")

# An old snapshot of a stranger: rows that the reset deletes stay as dead ones, which the cells tell.
study = short_database_study(t.path("snapshot"), STATE, rounds=1)
process = study.start()
in_phase(study, process, "ping  4")
url = subprocess.run([RESTBENCH, "db", "url", "--state", STATE], check=True, capture_output=True,
                     text=True).stdout.strip()
stranger = subprocess.Popen(["psql", "-XAtq", url], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
stranger.stdin.write("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM clienti;\n")
stranger.stdin.flush()
t.is_(process.wait(PATIENCE), 0, "with an old snapshot open a run comes to its end", study.err())
stranger.kill()
stranger.wait()
cell = [d for d in study.details() if "kind" not in d][-1]
t.ok(cell["test"] == "insert_100" and cell["database"]["dead_tuples_unremovable"] > 0 and
     "dead-rows" in [mark["name"] for mark in cell["marks"]], "what could not be removed is recorded and marked",
     (cell["test"], cell["database"], cell["marks"]))


def files_below(*folders):
    for folder in folders:
        for path, _, names in os.walk(folder):
            yield from (os.path.join(path, name) for name in names)


def command_lines():
    """Of everything that runs here now, restbench included."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                yield int(pid), file.read()
        except OSError:
            pass


# Secrets: the server gets them in its environment, and nobody else sees them.
study = short_database_study(t.path("secret"), STATE, seconds=2.0, rounds=1)
log = t.path("secret.log")
process = study.start("--security", "jwt", "--log", log)
in_phase(study, process, "select_1  4")
secrets = {}
for pid in study.processes():
    with open(f"/proc/{pid}/environ", "rb") as file:
        variables = dict(item.split(b"=", 1) for item in file.read().split(b"\0") if b"=" in item)
    if b"JWT_SECRET" in variables:
        secrets["the JWT secret"] = variables[b"JWT_SECRET"]
        password = re.match(rb"\w+://[^:]+:([^@]+)@", variables[b"DATABASE_URL"])
        secrets["the database's password"] = password[1] if password else b""
t.ok(len(secrets) == 2 and all(len(value) >= 16 for value in secrets.values()),
     "the server has a secret and a password of a good length", secrets)
TOKEN = rb"eyJ[A-Za-z0-9_-]{8,}\.eyJ"
lines = list(command_lines())
for what, value in secrets.items():
    t.is_([pid for pid, line in lines if value in line], [], f"{what} is in no argument")
t.is_([pid for pid, line in lines if re.search(TOKEN, line)], [], "the token is in no argument")
t.is_(process.wait(180), 0, "the run comes to its end", study.err())
for path in [log, os.path.join(study.folder, "err"), os.path.join(study.folder, "out"),
             *files_below(study.data, os.path.join(STATE, "logs"), os.path.join(STATE, "run"),
                          os.path.join(study.folder, "reports"))]:
    with open(path, "rb") as file:
        content = file.read()
    found = [what for what, value in secrets.items() if value in content]
    if found or re.search(TOKEN, content):
        t.ok(False, "no secret in a file", f"{path}: {found or 'the token'}")
t.ok(len(list(files_below(study.data))) >= 3, "and none is in a log or a file of the run")

# Another PostgreSQL, with fewer connections than the server's pool.
subprocess.run([RESTBENCH, "db", "start", "--state", STATE], check=True, capture_output=True)
subprocess.run([RESTBENCH, "db", "stop", "--state", STATE], check=True, capture_output=True)
with open(os.path.join(STATE, "pg", "data", "postgresql.conf"), "a", encoding="utf-8") as settings:
    settings.write("max_connections = 12\n")
subprocess.run([RESTBENCH, "db", "start", "--state", STATE], check=True, capture_output=True)
url = subprocess.run([RESTBENCH, "db", "url", "--state", STATE], check=True, capture_output=True,
                     text=True).stdout.strip()
study = short_database_study(t.path("few"), t.path("state2"), pool=16, rounds=1)
got = t.run(*study.arguments("--database", url))
t.is_(got.status, 1, "a database without enough connections: the run comes to its end", got.err)
t.ok("connection" in got.err, "it is said", got.err)
t.is_(study.csv(), [], "no figure is made up")
t.is_([row["status"] for row in study.machine()["rows"]], ["failed"], "the row is recorded as failed")
t.is_((study.processes(), study.groups()), ([], []), "nothing is left running")
subprocess.run([RESTBENCH, "db", "stop", "--state", STATE], check=True, capture_output=True)

t.done()
