#!/usr/bin/env python3
"""TAP: every load tool against one server, as its driver runs and reads it, beside the server's own count.

The tools must agree with the server within what was in flight at the end, and with each other about what they sent.
A tool that is not installed is skipped by name. RESTBENCH names the program; bench peers in build/bench/bin count as
installed.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
sys.path.insert(0, os.path.join(HERE, "..", "behaviours"))
sys.dont_write_bytecode = True
import server as misbehaving  # noqa: E402

RESTBENCH = os.environ.get("RESTBENCH", os.path.join(ROOT, "restbench"))
DRIVERS = os.path.join(ROOT, "build", "tests", "test_tools")
TOOLS = ("restbench", "bombardier", "wrk", "oha", "h2load")
CONNECTIONS = 8
# Requests that a tool may send to see whether somebody answers, before it begins to count.
SLACK = 1
BODY = b'{"inserted": 100, "text": "x"}'


def driver(*words):
    done = subprocess.run([DRIVERS, *words], cwd=ROOT, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise RuntimeError(f"{words[:2]}: {done.stderr.strip()}")
    return done.stdout


def run(tool, plan, body, scratch):
    """(result of the driver, report of the server)."""
    one = misbehaving.Server(plan)
    one.start()
    try:
        job = [tool, str(CONNECTIONS), "1", "5000"]
        argv = driver("argv", *job, f"http://127.0.0.1:{one.port}/path?query=1", *body).splitlines()
        if tool == "restbench":
            argv[0] = RESTBENCH
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    finally:
        report = one.finish()
    output = os.path.join(scratch, "output")
    with open(output, "wb") as file:
        file.write(done.stdout)
    return json.loads(driver("parse", *job, output)), report


def agreement(result, report):
    faults = []
    seen = report["seen"]
    answered = result["ok"] + result["errors"]
    if not 0 <= seen - answered <= CONNECTIONS + SLACK:
        faults.append(f"answers {answered}, the server saw {seen}")
    started = result["started"]
    if started is not None and not -SLACK <= started - seen <= CONNECTIONS:
        faults.append(f"started {started}, the server saw {seen}")
    if result["ok"] == 0:
        faults.append("no answer was ok")
    return faults


def statuses(result, report):
    """Every fourth answer is a 503: it is an error and in no rate."""
    faults = agreement(result, report)
    quarter = report["seen"] / 4
    if abs(result["errors"] - quarter) > CONNECTIONS + SLACK:
        faults.append(f"errors {result['errors']}, about {quarter} answers were 503")
    if abs(result["requests_per_s"] * result["window_s"] - result["ok"]) > 1:
        faults.append(f"a rate of {result['requests_per_s']} is not {result['ok']} in {result['window_s']} s")
    return faults


def request(result, report):
    """A POST with a body: method, target and length as given."""
    faults = agreement(result, report)
    head = report["heads"][-1]
    if not head.startswith("POST /path?query=1 HTTP/1.1\r\n"):
        faults.append("not the request: " + head.splitlines()[0])
    if f"content-length: {len(BODY)}\r\n" not in head.lower():
        faults.append("not the length of the body: " + repr(head))
    if report["body_bytes"] < len(BODY) * (report["seen"] - CONNECTIONS):
        faults.append(f"{report['body_bytes']} bytes of bodies in {report['seen']} requests")
    return faults


BUSY = {"on": [{"total": {"every": 4}, "steps": [["send", "HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n"]]}]}
CHECKS = (("counts", {}, agreement, False), ("statuses", BUSY, statuses, False), ("request", {}, request, True))


def check(tool, plan, judge, with_body):
    with tempfile.TemporaryDirectory(prefix="tools-") as scratch:
        os.environ["TMPDIR"] = scratch
        body = []
        if with_body:
            body = [os.path.join(scratch, "body")]
            with open(body[0], "wb") as file:
                file.write(BODY)
        try:
            return judge(*run(tool, plan, body, scratch))
        except (RuntimeError, ValueError, OSError, subprocess.TimeoutExpired) as error:
            return [f"{type(error).__name__}: {error}"]


def main():
    os.environ["PATH"] += os.pathsep + os.path.join(ROOT, "build", "bench", "bin")
    subprocess.run(["make", "-s", "-C", ROOT, "build/tests/test_tools"], stdout=sys.stderr, check=True)
    print(f"1..{len(TOOLS) * len(CHECKS)}")
    failed = False
    number = 0
    for tool in TOOLS:
        there = tool == "restbench" or shutil.which(tool)
        for name, plan, judge, with_body in CHECKS:
            number += 1
            if not there:
                print(f"ok {number} - {tool} {name} # SKIP {tool} is not installed")
                continue
            faults = check(tool, plan, judge, with_body)
            print("not ok" if faults else "ok", number, "-", tool, name, flush=True)
            for fault in faults:
                print("#  ", fault)
            failed = failed or bool(faults)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
