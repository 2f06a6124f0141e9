#!/usr/bin/env python3
"""TAP: PostgreSQL's disk becomes full while nobody watches: what is finished stays, the run
stops with one line that says why, and with room it is continued to its end."""

import os
import subprocess

from study import short_database_study
from tap import RESTBENCH, Tap

t = Tap()
os.chmod(t.folder, 0o755)
STATE = t.path("state")
PGDATA = os.path.join(STATE, "pg", "data")
PATIENCE = 300  # seconds; the machine may be busy


def mounted():
    """The cluster's data on a small file system of its own; False where that is not allowed."""
    for command in ("start", "stop"):
        subprocess.run([RESTBENCH, "db", command, "--state", STATE], check=True, capture_output=True)
    owner = os.stat(PGDATA)
    os.rename(PGDATA, PGDATA + ".first")
    os.mkdir(PGDATA)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=400m,mode=700,uid={owner.st_uid},gid={owner.st_gid}",
                           "restbench-test", PGDATA], capture_output=True, check=False)
    if done.returncode == 0:
        subprocess.run(["cp", "-a", PGDATA + ".first/.", PGDATA], check=True)
    return done.returncode == 0


def fill(keep):
    """Takes what is free but so many bytes."""
    path = os.path.join(PGDATA, "filler")
    with open(path, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1 << 16))
        except OSError:
            pass
        file.truncate(max(file.tell() - keep, 0))
    return path


def check(name, moment, keep):
    """The disk is filled at that moment of a run; later there is room again."""
    study = short_database_study(t.path(name), STATE, seconds=2.0)
    plan = study.plan()
    process = study.start()
    t.ok(study.wait_for(lambda: process.poll() is None and moment(study), PATIENCE), f"{name}: it is there", study.err())
    kept = study.csv()
    filler = fill(keep)
    status = process.wait(PATIENCE)
    said = study.err()
    os.unlink(filler)
    t.is_(status, 2, f"{name}: the run stops by itself", said)
    lines = [*filter(lambda line: line.startswith("restbench: "), said.splitlines()), ""]
    t.ok("No space left on device" in lines[-2] and "--resume" in lines[-2],
         f"{name}: its last line says why, and how to go on", said)
    t.is_(study.csv()[:len(kept)], kept, f"{name}: what was finished is kept")
    t.is_([d["test"] for d in study.details() if "kind" not in d and d["csv"]["errors"] > 0 and
           "errors" not in [mark["name"] for mark in d["marks"]]], [], f"{name}: errors are marked")
    t.is_((study.processes(), study.groups()), ([], []), f"{name}: nothing is left running")
    got = t.run(*study.arguments("--resume"))
    t.is_((got.status, study.cells()), (0, plan), f"{name}: with room it is continued to its end", got.err)
    got = t.run("verify", study.whole("_no-auth.csv")[0])
    t.is_(got.status, 0, f"{name}: and verify finds no fault", got.out + got.err)


try:
    if not mounted():
        print("1..0 # SKIP a file system cannot be mounted here (needs root)")
        raise SystemExit(0)
    check("window", lambda study: "insert_100  4" in study.now().get("now", "") and study.generators(), 1 << 20)
    check("reset", lambda study: "select_1  4" in study.now().get("now", "") and study.generators(), 0)
    filler = fill(0)
    study = short_database_study(t.path("start"), STATE, rounds=1)
    got = t.run(*study.arguments())
    os.unlink(filler)
    t.ok(got.status == 2 and "No space left on device" in got.err.splitlines()[-1], "start: refused in one line", got.err)
    t.is_((study.processes(), study.names("_no-auth.csv")), ([], []), "start: nothing was begun, nothing is left running")

    # No room for a cluster at all, and then some.
    small = t.path("small")
    os.makedirs(small)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "restbench-test", small], check=True)
    got = t.run("db", "start", "--state", small)
    t.ok(got.status == 2 and got.err.count("\n") == 1 and "No space left on device" in got.err,
         "initdb without room ends in one line", got.err)
    subprocess.run(["mount", "-o", "remount,size=400m", small], check=True)
    got = t.run("db", "start", "--state", small)
    t.is_((got.status, sorted(os.listdir(small))), (0, ["pg", "pg.lock"]), "with room the next start works", got.err)
    t.is_(t.run("db", "stop", "--state", small).status, 0, "and it stops")

    # Containers have a small /dev/shm.
    study = short_database_study(t.path("shm"), t.path("state-shm"), rounds=1)
    done = subprocess.run(["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=1m t /dev/shm && "$@"; status=$?; '
                           'ls /dev/shm | grep PostgreSQL; exit $status', "sh", RESTBENCH,
                           *study.arguments("--tests", "insert_100")],
                          capture_output=True, text=True, check=False, timeout=PATIENCE, stdin=subprocess.DEVNULL)
    if done.returncode == 0:
        t.is_(len(study.csv()), 1, "a tiny /dev/shm: the cell is measured", done.stderr)
    else:
        t.ok(done.returncode == 2 and "/dev/shm has 1.0 MiB" in done.stderr.splitlines()[-1],
             "a tiny /dev/shm: one line says so", done.stderr)
    t.ok("PostgreSQL." not in done.stdout, "no segment is left there", done.stdout)
finally:
    subprocess.run(["umount", "-l", t.path("small")], check=False, capture_output=True)
    subprocess.run(["umount", "-l", PGDATA], check=False, capture_output=True)

t.done()
