#!/usr/bin/env python3
"""TAP: `restbench load` with many connections, threads and answers: none lost, and memory that does not grow."""

import os
import re
import resource
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from load_server import faults  # noqa: E402
from tap import HERE, RESTBENCH, Tap  # noqa: E402

sys.path.insert(0, os.path.join(HERE, "..", "behaviours"))
import check  # noqa: E402

ROOT = os.path.join(HERE, "..", "..", "..")
ENGINES = ("epoll", "io_uring")
LIMIT_MIB = 48
LONGEST_S = 170
t = Tap()


class CheapServer:
    """The bench's: its own count of answers and connections."""

    def __enter__(self):
        self.process = subprocess.Popen([os.path.join(ROOT, "build", "bench", "cheap_server"), "20"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = f"http://127.0.0.1:{int(self.process.stdout.readline().split()[1])}/"
        return self

    def __exit__(self, *_):
        words = self.process.communicate(timeout=60)[0].split()
        self.answers, self.connections = int(words[1]), int(words[3])


def peak_mib(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            return int(re.search(r"VmHWM:\s*(\d+) kB", file.read()).group(1)) / 1024
    except (OSError, AttributeError):
        return None


def load(url, *args):
    """(exit status, data, peak resident MiB); the memory is read while it runs."""
    command = [RESTBENCH, "load", "-o", "json", "-p", "r", "-t", "60s", *args, url]
    with open(t.path("out"), "w+b") as out:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE)
        peak, end = 0, time.monotonic() + LONGEST_S
        while child.poll() is None and time.monotonic() < end:
            peak = peak_mib(child.pid) or peak
            time.sleep(0.02)
        child.kill()
        err = child.communicate()[1].decode(errors="replace")
        out.seek(0)
        text = out.read().decode()
    if not text.startswith("{"):
        t.ok(False, f"it prints a result: {args}", f"exit {child.returncode}: {err}")
        return child.returncode, None, peak
    return child.returncode, check.parse(text), peak


def run(name, connections, requests, *args):
    """Every connection is there, every answer is counted, by both sides. Returns the peak of memory."""
    with CheapServer() as server:
        status, data, peak = load(server.url, "-c", str(connections), "-n", str(requests), *args)
    if data is None:
        return None
    ours = data["restbench"]
    t.is_((status, ours["ok"], server.answers), (0, requests, requests), f"{name}: every answer is counted",
          ours["errors"])
    t.is_((ours["established"], server.connections, ours["reconnects"]), (connections, connections, 0),
          f"{name}: every connection is there and kept")
    t.is_(faults(data), [], f"{name}: the identities hold")
    return peak


subprocess.run(["make", "-s", "-C", os.path.join(ROOT, "harness", "bench"), "programs"], check=True, stdout=sys.stderr)
many = 10000
if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < many + 200:
    many = 900  # this machine allows no more; the memory is measured all the same
for engine in ENGINES:
    ready = t.run("load", "--engine", engine, "-c", "1", "-n", "1", "http://127.0.0.1:1/")
    if engine == "io_uring" and "io_uring" in ready.err:
        t.ok(True, f"# SKIP {ready.err.strip()}")
        continue
    for threads in ("1", "8"):
        name = f"{engine}: {many} connections, {threads} threads"
        peak = run(name, many, 5 * many, "--engine", engine, "--threads", threads)
        t.ok(peak and peak < LIMIT_MIB, f"{name}: less than {LIMIT_MIB} MiB", f"{peak} MiB")
    for threads in ("1", "3", "8"):
        run(f"{engine}: 1003 connections, {threads} threads", 1003, 20011, "--engine", engine, "--threads", threads)

few = run("ten thousand answers", 50, 10000)
more = run("the millionth answer and beyond", 50, 1050000)
t.ok(few and more and more < few + 4, "a hundred times the answers take no more memory", f"{few} and {more} MiB")
t.done()
