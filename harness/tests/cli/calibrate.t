#!/usr/bin/env python3
"""TAP: `restbench calibrate`: the CSV, the CPUs by their own numbers, an interrupted run."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tap import RESTBENCH, Tap  # noqa: E402

t = Tap()
allowed = sorted(os.sched_getaffinity(0))

# A /proc/stat with gaps and short lines, mounted over the real one in a namespace of our own, where one can be made.
stat = t.path("stat")
with open(stat, "w", encoding="ascii") as file:
    file.write("cpu  10 0 10 100\ncpu%d 50 10 60 7000\ncpu%d 9 9 9 9 9 9 9 9 9 9 9 9\nbtime 1700000000\n"
               % (allowed[0] + 700, allowed[0] + 701))
apart = shutil.which("unshare") and subprocess.run(["unshare", "-m", "true"], check=False, capture_output=True).returncode == 0
inside = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /proc/stat && exec "$1" calibrate', stat, RESTBENCH]
done = subprocess.run(inside if apart else [RESTBENCH, "calibrate"], capture_output=True, text=True, check=False, timeout=300)
lines = done.stdout.splitlines()
t.is_(done.returncode, 0, "calibrate succeeds", done.stderr)
t.is_(lines[:1], ["utc,processes,ms"], "the header is the study's")
t.is_([line.split(",")[1] for line in lines[1:]], ["1", "4", "8"], "a line for 1, 4 and 8 processes")
t.ok(all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ,\d,\d+\.\d", line) for line in lines[1:]), "plain figures",
     done.stdout)
t.is_(re.findall(r"^CPU (\d+),", done.stderr, re.M), [str(cpu) for cpu in allowed], "the allowed CPUs are named")
if apart:
    t.is_(done.stderr.splitlines(), [f"CPU {cpu}, busy unknown, steal unknown" for cpu in allowed],
          "a CPU without a line is unknown, not its neighbour's")
else:
    t.ok(True, "a CPU without a line # SKIP needs a mount namespace")

last = allowed[-1]
os.sched_setaffinity(0, [last])
got = t.run("calibrate", "--json")
os.sched_setaffinity(0, allowed)
whole = json.loads(got.out)
t.is_([job["processes"] for job in whole["jobs"]], [1, 4, 8], "the same as JSON")
t.is_([cpu["cpu"] for cpu in whole["cpu"]["cpus"]], [last], "with one allowed CPU, not the first, that one is used")
t.is_(whole["machine"]["cpus_allowed"], str(last), "and recorded")

got = t.run("calibrate", "x")
t.is_((got.status, got.out), (2, ""), "an operand is refused")

run = subprocess.Popen([RESTBENCH, "calibrate"], stdout=subprocess.PIPE, text=True, start_new_session=True)
time.sleep(0.3)
run.send_signal(signal.SIGINT)
out, _ = run.communicate(timeout=60)
t.is_((run.returncode, out), (-signal.SIGINT, ""), "SIGINT ends it as by that signal, without figures")


def session_of(pid):
    try:
        return os.getsid(pid)
    except OSError:
        return None


t.is_([pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if session_of(pid) == run.pid], [],
      "no process is left")
t.done()
