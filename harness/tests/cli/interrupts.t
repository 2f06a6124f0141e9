#!/usr/bin/env python3
"""TAP: signals at any moment end a run by that signal and leave nothing; a run that was stopped for a while goes on."""

import os
import pty
import re
import signal
import time

from study import Study
from tap import RESTBENCH, Tap

t = Tap()
LIMIT = 60  # until it must have gone; about two seconds where nobody else works


def begin(name, moment, *more, fault="", **changes):
    """A run that has come to the moment (a word of its status, or what its standard error says)."""
    study = Study(t.path(name), {name: fault}, **changes)
    study.add_server(name, fault, start_timeout_s=120,
                     **({"build": {"command": ["sleep", "120"], "timeout_s": 900}} if moment == "build" else {}))
    process = study.start(*more)
    t.ok(study.wait_for(lambda: process.poll() is None and
                        (moment in study.now().get("now", "") or moment in study.err())), f"{name}: it is there",
         study.err())
    return study, process


def check_ended(study, process, name, by):
    try:
        status = process.wait(LIMIT)
    except Exception as e:  # the run is still there: say so, and go on with the next
        status = e
        process.kill()
    t.is_(status, -by, f"{name}: it ends by that signal", study.err())
    t.is_((study.processes(), study.groups(), os.path.exists(os.path.join(study.state, "run", "work"))),
          ([], [], False), f"{name}: no process, no cgroup, no work folder is left")


LONG = {"seconds": 100, "warmup": {"seconds": 100, "connections": 2}}
for name, moment, changes in (("building", "build", {}), ("calibrating", "calibrate", {"calibration": True}),
                              ("starting", "starts", {"fault": "silent"}), ("warming", "warm-up", LONG),
                              ("measuring", "one  4", {**LONG, "warmup": {"seconds": 0}})):
    tests = [{"name": "one", "path": "/ping"}]
    study, process = begin(name, moment, "--on-finish", 'sleep 0.3; echo "$RESTBENCH_STATUS $RESTBENCH_CSV" >hook',
                           tests=tests, **changes)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    check_ended(study, process, f"SIGINT, {name}", signal.SIGINT)
    with open(os.path.join(os.getcwd(), "hook"), encoding="utf-8") as file:
        hook = file.read()
    os.unlink("hook")
    t.ok(re.match(r"1 ", hook), f"{name}: --on-finish ran to its end and knows the status", hook)

for by in (signal.SIGTERM, signal.SIGHUP):
    study, process = begin(by.name.lower(), "ping  4", **LONG | {"warmup": {"seconds": 0}})
    process.send_signal(by)
    check_ended(study, process, by.name, by)
    t.is_(study.machine()["run"]["complete"], False, f"{by.name}: the run is to be continued")

# The terminal is closed: the run has it as its controlling terminal.
study = Study(t.path("terminal"), {"terminal": ""}, seconds=100)
pid, master = pty.fork()
if pid == 0:
    os.execv(RESTBENCH, [RESTBENCH, *study.arguments()])
study.pids.append(pid)
seen = b""
while b"ETA" not in seen:
    seen += os.read(master, 4096)
t.ok(study.wait_for(study.generators), "a run on a terminal has a line at the bottom with its ETA", seen)
os.close(master)
t.is_(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), -signal.SIGHUP, "closing the terminal ends it")
t.is_((study.processes(), study.groups()), ([], []), "closing the terminal leaves nothing")



def shell_with_job_control(arguments):
    """What a shell does with a job: its own group in the foreground; stopped by Ctrl-Z it comes back by fg, later."""
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execv(RESTBENCH, [RESTBENCH, *arguments])
    while True:
        _, status = os.waitpid(job, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            os._exit(os.waitstatus_to_exitcode(status) & 0xff)
        os.tcsetpgrp(0, os.getpgrp())
        os.write(1, b"Stopped\n")
        time.sleep(0.5)
        os.tcsetpgrp(0, job)
        os.write(1, b"fg\n")
        os.killpg(job, signal.SIGCONT)


# Ctrl-Z and fg.
study = Study(t.path("job"), {"job": ""}, seconds=3.0)
pid, master = pty.fork()
if pid == 0:
    shell_with_job_control(study.arguments())
study.pids.append(pid)
seen = b""
pressed = False
while True:
    try:
        seen += os.read(master, 4096)
    except OSError:  # the last one that had the terminal is gone
        break
    if not pressed and b"ping  4" in seen and study.wait_for(study.generators):
        time.sleep(0.5)
        os.write(master, b"\x1a")
        pressed = True
text = seen.decode()
t.is_(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0, "a run that Ctrl-Z stopped and fg continued comes to its end", text)
os.close(master)
stopped, again = text.find("Stopped\r\n"), text.find("again ")
t.ok(0 < stopped < again, "Ctrl-Z stops it; its cell is measured again", text)
t.ok(re.search(r"\[0/1\] .*ping  4.*ETA", text[text.find("fg\r\n"):again]), "fg shows its line again", text)
cell = study.details()[0]
t.is_((len(study.csv()), cell["attempt"], ["stopped" in one["failed"] for one in cell["tries"]]), (1, 2, [True]),
      "the cell is there once, and tells it", cell["tries"])
t.ok(text.rstrip(" ").endswith("\n") and text.rpartition("ETA")[2].count("\r\x1b[K") >= 1,
     "at the end the line is gone from the terminal", text[-300:])
t.is_((study.processes(), study.groups()), ([], []), "Ctrl-Z leaves nothing")

# Stopped and continued inside a window: nobody watched, so the cell is measured again, once.
study, process = begin("stopped", "ping  4", seconds=2.0)
study.wait_for(study.generators)


def stop_for_a_while():
    process.send_signal(signal.SIGSTOP)
    time.sleep(0.3)
    process.send_signal(signal.SIGCONT)


time.sleep(0.5)
stop_for_a_while()
t.ok(study.wait_for(lambda: "again" in study.err() or process.poll() is not None), "the cell is measured again",
     study.err())
study.wait_for(lambda: "ping  4" in study.now().get("now", "") and study.generators())
time.sleep(0.5)
stop_for_a_while()
t.is_(process.wait(LIMIT), 0, "a run that is stopped and continued comes to its end", study.err())
cell = study.details()[0]
t.is_((len(study.csv()), cell["attempt"], len(cell["tries"])), (1, 2, 1), "one cell, and both tries are recorded")
t.has(cell["tries"][0]["failed"], "stopped", "with the reason")
t.is_([mark["name"] for mark in cell["marks"] if mark["name"] == "suspended"], ["suspended"],
      "stopped once more it is marked")

# Unattended: the log has every line with its time, the hook the result.
study = Study(t.path("log"), {"a": ""})
log = t.path("run.log")
got = t.run(*study.arguments("--log", log, "--on-finish", 'echo "$RESTBENCH_STATUS $RESTBENCH_CSV" >hook'))
with open(log, encoding="utf-8") as file:
    lines = file.read().splitlines()
t.is_([line for line in lines if not re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ ", line)], [],
      "every line of the log has its time")
t.is_(len([line for line in lines if re.search(r"\[1/1\] round 1  a  ping  4 ", line)]), 1, "one line a cell")
t.ok("\x1b" not in got.err and "\r" not in got.err, "without a terminal only plain lines are written", got.err)
with open(os.path.join(t.folder, "hook"), encoding="utf-8") as file:
    t.is_(file.read().split(), ["0", study.whole("_no-auth.csv")[0]], "the hook gets the status and the CSV's path")
got = t.run(*study.arguments("--log", t.path("missing/run.log")))
t.is_(got.status, 2, "a log that cannot be written is refused before anything starts", got.err)

t.done()
