#!/usr/bin/env python3
"""TAP: a full or read-only data folder ends a run with one clear line; what is finished is kept, and it goes on."""

import os
import shutil
import subprocess

from study import Study
from tap import Tap

t = Tap()
TESTS = [{"name": f"test{number}", "path": "/ping"} for number in range(4)]


def mounted(name):
    """A small file system of its own; None where that is not allowed."""
    folder = t.path(name)
    os.makedirs(folder)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "restbench-test", folder], capture_output=True,
                          check=False)
    return folder if done.returncode == 0 else None


folder = mounted("small")
if folder is None:
    print("1..0 # SKIP a file system cannot be mounted here (needs root)")
    raise SystemExit(0)
try:
    study = Study(t.path("full"), {"a": ""}, tests=TESTS, seconds=0.3)
    study.data = os.path.join(folder, "data")
    plan = study.plan()
    process = study.start()
    study.wait_for(study.csv)
    filler = os.path.join(folder, "filler")
    with open(filler, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
        file.truncate(file.tell() - 4096)  # room for a part of the next line
    t.is_(process.wait(120), 2, "a disk that becomes full stops the run", study.err())
    lines = [line for line in study.err().splitlines() if line.startswith("restbench: ")]
    t.is_(len(lines), 1, "in one line", study.err())
    t.has(lines[0], "No space left on device", "that says why")
    t.has(lines[0], study.data, "and where")
    t.has(study.err(), "--resume", "the next line says how to go on")
    done = study.cells()
    t.ok(1 <= len(done) < len(plan), "some cells were finished before", (done, study.err()))
    t.is_((len(study.csv()), study.whole("_no-auth.csv")[1][-1]), (len(done), "\n"), "each with its whole line")
    t.is_((study.processes(), study.groups()), ([], []), "nothing is left running")
    os.unlink(filler)
    kept = study.csv()
    got = t.run(*study.arguments("--resume"))
    t.is_(got.status, 0, "with room it goes on", got.err)
    t.is_((study.cells(), study.csv()[:len(kept)]), (plan, kept), "every cell once; what was finished is kept")
    t.is_([n for n in os.listdir(study.data) if "tmp" in n], [], "no temporary file is left")

    subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
    shutil.rmtree(os.path.join(study.state, "build"))
    got = t.run(*study.arguments())
    t.is_(got.status, 2, "a read-only data folder is refused", got.err)
    t.has(got.err.splitlines()[-1], "Read-only file system", "in one line")
    t.has(got.err.splitlines()[-1], study.data, "that names it")
    t.hasnt(got.err, "build ", "before anything is built or started")
finally:
    subprocess.run(["umount", "-l", folder], check=False)

t.done()
