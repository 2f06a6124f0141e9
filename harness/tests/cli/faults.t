#!/usr/bin/env python3
"""TAP: what servers do wrong on the way is recorded, marked and survived; nothing is left running."""

import os
import subprocess

from study import Study
from tap import Tap

t = Tap()


def run_one(name, fault, **changes):
    study = Study(t.path(name), {"good": "", name: fault}, **changes)
    got = t.run(*study.arguments())
    return study, got


def check_survived(study, got, name, status=1):
    t.is_(got.status, status, f"{name}: exit status {status}", got.err)
    t.ok(any(",Server good," in line for line in study.csv()), f"{name}: the other server is measured", got.err)
    t.is_(study.processes(), [], f"{name}: nothing is left running")
    t.is_(study.machine()["run"]["complete"], True, f"{name}: the run came to its end")


study, got = run_one("exit", "exit")
check_survived(study, got, "a server that ends at once")
t.has(got.err, "exited 3 before it listened", "it is said how it ended")
t.has(got.err, "no licence found", "with the last line of its log")
rows = {row["id"]: row for row in study.machine()["rows"]}
t.is_(rows["exit"]["status"], "failed", "machine.json says that the row failed")
t.has(rows["exit"]["reason"], "exited 3", "and why")
t.has(got.out, "exited 3", "it stands below the tables")

study = Study(t.path("silent"), {"good": "", "silent": "silent"})
study.add_server("silent", "silent", start_timeout_s=1)
got = t.run(*study.arguments())
check_survived(study, got, "a server that never listens")
t.has(got.err, "does not listen on port", "it is said")

study = Study(t.path("stops"), {"good": "", "stops": "stops"})
study.add_server("stops", "stops", start_timeout_s=1)
got = t.run(*study.arguments())
check_survived(study, got, "a server that is stopped")
t.has(got.err, "state T", "its state is said")

study, got = run_one("dies", "dies")
check_survived(study, got, "a server that dies under load")
t.has(got.err, "killed by SIGABRT", "it is said how")
failed = [d for d in study.details() if d.get("kind") == "failed"]
t.is_([(d["row"]["id"], d["test"]) for d in failed], [("dies", "ping")], "the cell that failed is in the details")
t.ok(not any(",Server dies," in line for line in study.csv()), "and not in the CSV")

study, got = run_one("dies-once", "dies-once")
check_survived(study, got, "a server that dies once", status=0)
cell = [d for d in study.details() if "kind" not in d and d["row"]["id"] == "dies-once"]
t.is_([d["attempt"] for d in cell], [2], "its cell was measured at the second try")
t.has(cell[0]["tries"][0]["failed"], "SIGABRT", "and the first try is recorded")
os.unlink("/tmp/dies-oncedies-once")

study, got = run_one("term", "term")
check_survived(study, got, "a server that ignores SIGTERM", status=0)

study, got = run_one("daemon", "daemon")
check_survived(study, got, "a server that leaves a daemon behind", status=0)

study, got = run_one("wildcard", "wildcard")
check_survived(study, got, "a server on the wildcard address")
t.has(got.err, "wildcard", "it is refused by that name")

study, got = run_one("wrong", "wrong", seconds=1.0)
t.has(got.err, "mismatch", "wrong bodies under load are marked")

study, got = run_one("errors", "errors")
t.is_(got.status, 0, "a server with errors is measured", got.err)
t.has(got.err, "errors: requests failed", "and marked")

study, got = run_one("chatter", "chatter")
check_survived(study, got, "a server that writes a line a request", status=0)
logs = os.path.join(study.state, "logs")
sizes = [os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(logs) for f in files]
t.ok(max(sizes) < 6 << 20, "its log is bounded", sizes)

study, got = run_one("terminal", "terminal")
check_survived(study, got, "a server that reads standard input and wants a terminal", status=0)
log = open(os.path.join(logs.replace("chatter", "terminal"), os.listdir(logs.replace("chatter", "terminal"))[0],
                        "terminal_round1.log"), encoding="utf-8").read()
t.has(log, "stdin says '' terminal False", "it gets end-of-file at once and has no terminal")

# Somebody else holds the port: refused with his pid, and left alone.
squatter = subprocess.Popen(
    ["python3", "-c", "import socket,time\ns=socket.socket()\ns.bind(('127.0.0.1',0))\ns.listen()\n"
     "print(s.getsockname()[1],flush=True)\ntime.sleep(120)"], stdout=subprocess.PIPE, text=True)
port = int(squatter.stdout.readline())
study = Study(t.path("squatted"), {"good": "", "squatted": ""})
study.add_server("squatted", "", port=port)
got = t.run(*study.arguments())
check_survived(study, got, "a port in use")
t.has(got.err, str(squatter.pid), "the owner is named by pid")
t.ok(squatter.poll() is None, "and not touched")
squatter.kill()

t.done()
