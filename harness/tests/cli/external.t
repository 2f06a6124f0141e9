#!/usr/bin/env python3
"""TAP: the row `external`: a server that somebody else started is measured and left alone; a command is started and
stopped. RESTBENCH names the program."""

import csv
import io
import os
import socket
import subprocess
import sys
import time

from study import ROOT, SERVERS, Study
from tap import Tap

FAULTY = os.path.join(SERVERS, "faulty", "server.py")
BARE = {"EXTERNAL_URL": "", "EXTERNAL_SERVER": ""}


def start():
    """A server of ours, that restbench does not know: it and its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-B", FAULTY], env={**os.environ, "PORT": str(port), "HOST": "127.0.0.1"},
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 5).close()
            break
        except OSError:
            time.sleep(0.05)
    return process, f"http://127.0.0.1:{port}"


def observe(t, study, process, url):
    before = os.sched_getaffinity(process.pid)
    got = t.run(*study.arguments("--servers", "external", "--url", url), env={**BARE, "EXTERNAL_SERVER": "never started"})
    t.is_(got.status, 0, "a server that listens already is measured", got.err)
    line = next(csv.DictReader(io.StringIO("\n".join(study.read("_no-auth.csv")))), {})
    t.ok(int(line.get("responses_2xx") or 0) > 0, "with its answers", line)
    t.is_(line.get("startup_s"), "", "startup_s, which nobody can know, is empty")
    t.is_((line.get("cpu_server_s"), line.get("cpu_server_user_s"), line.get("working_set_mb")), ("", "", ""),
          "and so is what it costs")
    t.is_(process.poll(), None, "it still runs")
    t.is_(os.sched_getaffinity(process.pid), before, "and was not pinned")
    row = study.machine()["rows"][0]
    t.is_((row["id"], row["run_command"], row["launch"], row["versions"]), ("external", [], None, {}),
          "the record claims no command and no version")
    t.hasnt(got.err, "build ", "nothing was built")


def mistakes(t, study, url):
    def run(*more, **env):
        return t.run(*study.arguments("--servers", "external", *more), env={**BARE, **env})

    got = run()
    t.is_(got.status, 1, "with neither there is nothing to measure", got.err)
    t.has(got.err, "needs EXTERNAL_URL or EXTERNAL_SERVER in the environment", "and it says what is asked")
    got = run(EXTERNAL_URL=url, EXTERNAL_SERVER="x")
    t.is_(got.status, 1, "with both nobody knows which one is meant", got.err)
    t.has(got.err, "EXTERNAL_URL and EXTERNAL_SERVER are both set: unset one", "and it says so")
    for bad in ("127.0.0.1:80", "http://127.0.0.1", "http://192.0.2.1:80", "http://127.0.0.1:0", "http://127.0.0.1:80x"):
        got = run("--url", bad)
        t.ok(got.status == 2 and len(got.err.splitlines()) == 1 and f"--url {bad}" in got.err, f"--url {bad} is refused", got.err)
    got = t.run(*study.arguments("--servers", "known", "--url", url), env=BARE)
    t.ok(got.status == 2 and len(got.err.splitlines()) == 1 and "no chosen row observes" in got.err,
         "--url with no row that could observe it is refused", got.err)
    got = run("--url", url, "--security", "jwt", JWT_SECRET="")
    t.ok(got.status == 2 and len(got.err.splitlines()) == 1 and "set JWT_SECRET" in got.err, "its secret cannot be guessed",
         got.err)
    got = run("--url", url, "--security", "jwt", JWT_SECRET="theirs, of at least 32 characters")
    t.is_(got.status, 0, "and is used when it is told", got.err)
    listed = t.run("list", cwd=ROOT, env={**BARE, "EXTERNAL_URL": url})
    t.has(listed.out, "observed only: not built, started or pinned", "list says what the row will be")


def command(t, study):
    got = t.run(*study.arguments("--servers", "external"), env={**BARE, "EXTERNAL_SERVER": f"{sys.executable} -B {FAULTY}"})
    t.is_(got.status, 0, "a command is started and measured", got.err)
    line = next(csv.DictReader(io.StringIO("\n".join(study.read("_no-auth.csv")))), {})
    t.ok(float(line.get("startup_s") or 0) > 0, "with its time to start", line)
    t.is_(study.processes(), [], "and stopped")


def main():
    t = Tap()
    folder = os.path.join(ROOT, "servers")
    study = Study(t.path("observed"), {"known": ""})
    os.symlink(os.path.join(folder, "external"), os.path.join(study.folder, "servers", "external"))
    process, url = start()
    try:
        observe(t, study, process, url)
        mistakes(t, study, url)
    finally:
        process.kill()
    command(t, Study(t.path("command"), {}, rows=["external"], servers_folder=folder))
    t.done()


main()
