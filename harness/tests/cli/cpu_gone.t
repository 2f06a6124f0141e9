#!/usr/bin/env python3
"""TAP: a CPU that goes while a window is measured marks that cell. It goes from /proc/stat, in a namespace of this test's
own, so that nobody else on the machine loses any."""

import os
import shutil
import subprocess
import threading
import time

from study import Study
from tap import RESTBENCH, Tap

t = Tap()
LAST = f"cpu{max(os.sched_getaffinity(0))} "
INSIDE = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /proc/stat && exec "$@"']

if shutil.which("unshare") is None or subprocess.run([*INSIDE, "/proc/stat", "true"], check=False,
                                                     capture_output=True).returncode != 0:
    print("1..0 # SKIP /proc/stat cannot be replaced here (needs root)")
    raise SystemExit(0)


class Stat(threading.Thread):
    """A copy of /proc/stat, kept fresh; its length never changes, as a reader may come at any time."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.gone = False
        self.size = 2 * len(self.read())
        self.over = threading.Event()
        self.fd = os.open(path, os.O_CREAT | os.O_WRONLY, 0o644)
        self.write()

    def read(self):
        with open("/proc/stat", encoding="ascii") as file:
            return "".join(line for line in file if line.startswith(("cpu", "ctxt", "btime")) and
                           not (self.gone and line.startswith(LAST)))

    def write(self):
        os.pwrite(self.fd, self.read().ljust(self.size, "\n").encode(), 0)

    def run(self):
        while not self.over.wait(0.01):
            self.write()


def marks(name, gone):
    """The accounting marks of one cell; `gone`: the CPU goes in the middle of its window."""
    stat = Stat(t.path(name + "-stat"))
    stat.start()
    study = Study(t.path(name), {"good": ""}, seconds=3.0, warmup={"seconds": 0, "connections": 2})
    with open(t.path(name + "-err"), "wb") as err:
        run = subprocess.Popen([*INSIDE, t.path(name + "-stat"), RESTBENCH, *study.arguments()], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=err)
        t.ok(study.wait_for(study.generators), "a window begins")
        time.sleep(1.5)
        stat.gone = gone
        status = run.wait(timeout=120)
    stat.over.set()
    with open(t.path(name + "-err"), encoding="utf-8") as file:
        t.is_(status, 0, "the run comes to its end", file.read())
    return [mark["text"] for cell in study.details() if "kind" not in cell for mark in cell["marks"]
            if mark["name"] == "accounting"]


found = marks("gone", True)
t.ok(any("a CPU came or went in the window" in text for text in found), "a CPU that goes in a window is said", found)
found = marks("stays", False)
t.ok(not any("a CPU came or went" in text for text in found), "one that stays is not", found)
t.done()
