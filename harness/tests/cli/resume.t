#!/usr/bin/env python3
"""TAP: a run that was killed goes on where it stopped: nothing finished is lost or double, nothing is left running."""

import json
import os
import shutil
import signal
import subprocess
import time

from study import Study
from tap import Tap

t = Tap()
TESTS = [{"name": name, "title": name, "path": "/ping", "expect": {"json": {"ok": True}}} for name in ("one", "two")]
SHORT = {"seconds": 0.3, "warmup": {"seconds": 0.05, "connections": 2}}


def two_tests(name, servers, **changes):
    return Study(t.path(name), servers, **{**SHORT, "tests": TESTS, **changes})


def resumed(study, *more, **options):
    return t.run(*study.arguments("--resume", *more), **options)


def check_whole(study, plan, name, why=""):
    t.is_(study.cells(), plan, f"{name}: every cell of the plan once, in its order", why)
    t.is_(len(study.csv()), len(plan), f"{name}: a CSV line each")
    t.is_(study.machine()["run"]["complete"], True, f"{name}: complete")
    check_nothing_left(study, name)


def check_nothing_left(study, name):
    t.is_((study.processes(), study.groups(), os.path.exists(os.path.join(study.state, "run", "work"))),
          ([], [], False), f"{name}: no process, no cgroup, no work folder is left")


def stopped_after(study, cells, *more):
    """A run that is killed when so many cells are there."""
    process = study.start(*more)
    t.ok(study.wait_for(lambda: len(study.csv()) >= cells or process.poll() is not None), "some cells are there",
         study.err())
    study.kill(process)
    return study.csv()


# Killed between cells and inside one.
study = two_tests("killed", {"a": "", "b": ""}, rounds=2)
plan = study.plan()
t.is_(len(plan), 8, "the plan has its cells")
before = stopped_after(study, 2)
t.ok(study.wait_for(lambda: not study.processes(), 20), "server and generator end with restbench", study.processes())
got = t.run("status", "--state", study.state, "--data", study.data)
t.has(got.out, "nothing    runs", "status: nothing runs")
t.has(got.out, f"run {study.path} --resume goes on", "status: the unfinished run is named")
status = json.loads(t.run("status", "--json", "--state", study.state, "--data", study.data).out)
t.is_((status["running"], status["unfinished"]["cells_done"]), (False, len(before)), "status --json counts its cells")

process = study.start("--resume")
t.ok(study.wait_for(lambda: study.now().get("pid") == process.pid and study.generators()), "it goes on", study.err())
got = t.run("status", "--state", study.state, "--data", study.data)
t.has(got.out, f"(pid {process.pid})", "status: who runs")
t.has(got.out, "of 8", "status: how far")
t.has(got.out, "ETA", "status: when it will be ready")
generators = study.generators()
for pid in generators:
    os.kill(pid, signal.SIGKILL)
t.is_(process.wait(120), 0, "a killed generator is survived", study.err())
t.is_(study.csv()[:len(before)], before, "what was finished is kept as it was")
check_whole(study, plan, "killed", study.err())
t.is_(len(study.machine()["resumes"]), 1, "the machine file tells that it was resumed")
t.ok(any("SIGKILL" in one["failed"] for d in study.details() for one in d.get("tries", [])),
     "the cell under way was repeated, and both tries are recorded")
got = t.run("verify", study.whole("_no-auth.csv")[0])
t.is_(got.status, 0, "verify finds no fault", got.out + got.err)
got = resumed(study, "--servers", "a", "--tests", "one", "--rounds", "1")
t.is_((got.status, len(study.names("_no-auth_2.csv"))), (0, 1), "with nothing to resume it starts, under its own name")
t.is_(len(study.csv()), len(plan), "and leaves the finished run alone")

# What a killed run leaves in the files. One begun run, copied for each case.
begun = two_tests("begun", {"a": ""})
plan = begun.plan()
begun_lines = stopped_after(begun, 1)[:1]


def copy_of_begun(name):
    study = two_tests(os.path.join(name, "begun"), {"a": ""})
    shutil.copytree(begun.data, study.data)
    csv, details = study.whole("_no-auth.csv"), study.whole("_details.jsonl")
    cells = [line for line in details[1].splitlines(keepends=True)][:1]
    csv_lines = csv[1].splitlines(keepends=True)[:2]
    return study, (csv[0], "".join(csv_lines)), (details[0], "".join(cells))


def put(where, text):
    with open(where, "w", encoding="utf-8") as file:
        file.write(text)


study, csv, details = copy_of_begun("half-csv")
put(csv[0], csv[1] + csv[1].splitlines()[1][:40])
put(details[0], details[1])
got = resumed(study)
t.is_(got.status, 0, "half a CSV line is survived", got.err)
t.has(got.err, "a half-written last line set aside", "and it is said")
t.is_(study.whole("_aside_1.txt")[1], csv[1].splitlines()[1][:40], "the half line is kept aside, byte for byte")
t.ok(any("half-written" in note for note in study.machine()["notes"]), "the machine file tells it")
check_whole(study, plan, "half a CSV line", got.err)

study, csv, details = copy_of_begun("half-details")
put(csv[0], csv[1])
put(details[0], details[1] + details[1][:1000])
got = resumed(study)
t.is_(study.whole("_aside_1.txt")[1], details[1][:1000], "half a line of the details is kept aside", got.err)
check_whole(study, plan, "half a details line", got.err)

study, csv, details = copy_of_begun("no-csv-line")
put(csv[0], csv[1].splitlines(keepends=True)[0])
put(details[0], details[1])
got = resumed(study)
t.has(got.err, "details of a cell without its CSV line set aside", "details alone are no finished cell")
t.is_(study.whole("_aside_1.txt")[1], details[1], "they are kept aside")
check_whole(study, plan, "details alone", got.err)

study, csv, details = copy_of_begun("no-details")
put(csv[0], csv[1])
put(details[0], "")
got = resumed(study)
t.has(got.err, "a CSV line without its details set aside", "a CSV line alone is no finished cell")
check_whole(study, plan, "a CSV line alone", got.err)

study, csv, details = copy_of_begun("foreign")
put(csv[0], csv[1])
put(details[0], details[1].replace('"utc":"20', '"utc":"19'))
got = resumed(study)
t.is_(got.status, 2, "files that do not belong together are refused", got.err)
t.has(got.err, "do not belong together", "in a clear line")
t.is_(study.whole("_no-auth.csv")[1], csv[1], "and left as they are")

# What has changed since it began.
study, csv, details = copy_of_begun("changed")
put(csv[0], csv[1] + "half")
put(details[0], details[1])
got = resumed(study, "--seconds", "0.4")
t.is_(got.status, 2, "another configuration is refused", got.err)
t.has(got.err, "changed since it began: the configuration", "it is said")
with open(os.path.join(study.folder, "servers", "a", "server.py"), "a", encoding="utf-8") as file:
    file.write("# other\n")
got = resumed(study)
t.is_(got.status, 2, "another build is refused", got.err)
t.has(got.err, "the build of a", "the row is named")
t.is_((study.csv(), study.names("_aside_1.txt")), (begun_lines, []), "nothing was measured or set aside")
got = resumed(study, "--force-mixed")
t.is_(got.status, 0, "--force-mixed goes on", got.err)
t.has(study.machine()["resumes"][-1]["mixed"], "the build of a", "and it is recorded")
check_whole(study, plan, "mixed", got.err)

# A copy of the data folder, made while a run goes on, is a run that can be resumed.
study = two_tests("copied", {"a": "", "b": ""})
plan = study.plan()
process = study.start()
copies = []
while process.poll() is None:
    copy = t.path(f"copy{len(copies)}")
    if os.path.isdir(study.data):
        shutil.copytree(study.data, copy, ignore_dangling_symlinks=True)
        copies.append((len(study.csv()), copy))
    time.sleep(0.1)
for cells in (0, 3):
    found = [copy for count, copy in copies if count == cells]
    if not found:
        t.ok(False, "a copy of that moment was made", [count for count, _ in copies])
        continue
    study.data = found[len(found) // 2]
    got = resumed(study)
    t.is_(got.status, 0, f"a copy made after {cells} cells goes on", got.err)
    check_whole(study, plan, f"a copy after {cells} cells", got.err)

# Who is left over is ended at the next start, only ours.
study = two_tests("orphan", {"orphan": "daemon"})
plan = study.plan()
stopped_after(study, 1)
t.ok(study.wait_for(lambda: len(study.processes()) == 1, 20), "a daemon that left its session outlives the kill",
     study.processes())
stranger = subprocess.Popen(["sleep", "120"], cwd=os.path.join(study.state, "run"))
got = resumed(study)
t.has(got.err, "of a run that was killed", "the next start says whom it ends")
t.ok(stranger.poll() is None, "who was not started by restbench is not touched")
stranger.kill()
stranger.wait()
check_whole(study, plan, "a daemon of a killed run", got.err)

# One at a time.
study = two_tests("busy", {"a": ""}, seconds=30)
process = study.start()
t.ok(study.wait_for(lambda: study.now().get("pid") == process.pid and study.generators()), "a run is under way",
     study.err())
for pid in study.processes() + study.generators():
    links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    t.is_([link for link in links if link.startswith((study.data, study.state))], [],
          "a child has no descriptor of ours: neither lock nor data")
got = t.run(*study.arguments())
t.is_(got.status, 2, "a second run on one state folder is refused", got.err)
t.has(got.err, f"pid {process.pid}", "and the first one's pid named")
t.is_(len(study.names("_no-auth_2.csv")), 0, "it has made no file")
study.kill(process)
study.wait_for(lambda: not study.processes())

alone = {name: value for name, value in os.environ.items() if name != "RESTBENCH_SHARE_CPUS"}
process = study.start("--name", "alone", env=alone)
study.wait_for(lambda: process.poll() is not None or study.now().get("pid") == process.pid)
if process.poll() is None:
    other = two_tests("other", {"a": ""})
    del os.environ["RESTBENCH_SHARE_CPUS"]
    got = t.run(*other.arguments())
    os.environ["RESTBENCH_SHARE_CPUS"] = "1"
    t.is_(got.status, 2, "a second run on the same CPUs is refused", got.err)
    t.has(got.err, f"pid {process.pid}", "and the first one's pid named")
else:
    t.has(study.err(), "measures on it", "somebody else measures here, and the run is refused")
study.kill(process)

t.done()
