#!/usr/bin/env python3
"""TAP: `restbench load`: what it prints, its options, its borders and its ends. Servers that misbehave: behaviours.t."""

import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from load_server import Serving, faults, load, schema_errors  # noqa: E402
from tap import RESTBENCH, Tap  # noqa: E402

LIMIT_S = 60
t = Tap()


def valid(data, name):
    errors = schema_errors(data)
    t.ok(not errors, name if errors is not None else f"{name} # SKIP python3-jsonschema is not here", errors)
    t.is_(faults(data), [], f"{name}: the identities hold")


def start(*args, **kwargs):
    return subprocess.Popen([RESTBENCH, "load", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kwargs)


def refused(name, wanted, *args):
    got = t.run("load", *args)
    t.is_((got.status, got.out), (2, ""), f"{name}: exit 2", got.err)
    t.ok(got.err.count("\n") == 1 and got.err.startswith("restbench: "), f"{name}: one line", got.err)
    t.has(got.err, wanted, f"{name}: says what")


# Plain text in the form of bombardier.
with Serving() as s:
    got = t.run("load", "-c", "4", "-n", "100", "-l", s.url)
t.is_(got.status, 0, "100 answers: exit 0", got.err)
t.has(got.out, f"Bombarding {s.url} with 100 request(s) using 4 connection(s)\n", "intro")
t.has(got.out, "Done!\nStatistics        Avg      Stdev        Max\n  Reqs/sec ", "statistics")
t.has(got.out, "\n  Latency Distribution\n     50%", "-l: distribution")
t.has(got.out, "\n  HTTP codes:\n    1xx - 0, 2xx - 100, 3xx - 0, 4xx - 0, 5xx - 0\n    others - 0\n", "codes")
t.hasnt(got.out, "Errors:", "no errors, no list of them")
t.ok(re.search(r"\n  Throughput: +[0-9.]+[KMG]?B/s\n", got.out), "throughput", got.out)
with Serving() as s:
    got = t.run("load", "-c", "1", "-n", "1", "-p", "i", s.url)
t.is_(got.out.count("\n"), 1, "-p i: only the intro", got.out)
with Serving({"steps": [["close"]]}) as s:
    got = t.run("load", "-c", "2", "-n", "6", "-p", "result", s.url)
t.is_(got.status, 1, "nothing but errors: exit 1")
t.has(got.out, "  Reqs/sec        0.00       0.00       0.00\n  Latency            -          -          -\n", "no sample is -")
t.has(got.out, "  Errors:\n    connection closed before an answer - 6\n", "errors are listed")

# JSON.
with Serving() as s:
    got, data = load(t, "-c", "3", "-d", "300ms", "--warmup", "200ms", "-H", "a: 1", "-m", "POST", "-b", "x", "-l", s.url)
valid(data, "a timed run")
t.is_(data["spec"]["testDurationSeconds"], 0.3, "spec: duration")
t.is_(data["spec"]["headers"], [{"key": "a", "value": "1"}], "spec: headers")
t.ok(data["restbench"]["warmup_ok"] > 0 and data["restbench"]["ok"] > 0, "warm-up and window are counted apart")
t.is_(s.report["seen"], data["restbench"]["warmup_ok"] + data["restbench"]["ok"] + data["restbench"]["drained_ok"],
      "warm-up, window and drain are all that the server saw", data["restbench"])
with Serving() as s:
    got, data = load(t, "-c", "5", "-n", "50", "--warmup", "100ms", s.url)
valid(data, "a counted run with warm-up")
t.is_((data["restbench"]["started"], data["restbench"]["carried"]), (50, 0), "the count begins anew after the warm-up")
with Serving({"steps": [["close"]]}) as s:
    got, data = load(t, "-c", "1", "-n", "3", s.url)
valid(data, "a run without a sample")
t.is_(data["result"]["latency"]["mean"], None, "no sample: null")

# A second without an answer is there; latencies longer than a second are in their second.
with Serving({"steps": [["pause", 1300], ["ok"]]}) as s:
    got, data = load(t, "-c", "2", "-d", "3s", "-t", "10s", s.url)
t.is_([second["ok"] for second in data["restbench"]["per_second"]], [0, 2, 2], "an entry for each second", data)
t.is_(data["restbench"]["per_second"][0]["p50_us"], None, "a second without a sample: null")

# Open loop: latency from the schedule, against the exact list.
with Serving({"on": [{"total": 200, "steps": [["pause", 500], ["ok"]]}], "steps": [["ok"]]}) as s:
    got, data = load(t, "-r", "400", "-c", "1", "-d", "2s", s.url)
valid(data, "an open loop")
ours = data["restbench"]
t.ok(ours["started"] + ours["missed"] in range(799, 802), "one request each interval, started or missed", ours)
late = sum(count for upper, count in ours["latency_us"]["histogram"] if upper >= 100000)
# About 160 requests were due in the first 400 ms of the pause: each waited for at least the other 100 ms.
t.ok(late >= 140, "requests that were due in the pause have waited for it", f"{late} of {ours['ok']}")
with Serving() as s:
    got, data = load(t, "-r", "200", "-n", "60", "-c", "4", "--threads", "3", s.url)
t.is_((data["restbench"]["ok"], s.report["seen"]), (60, 60), "-r and -n: exactly so many")

# Borders for whoever samples from outside.
read_end, write_end = os.pipe()
with Serving() as s:
    child = start("-c", "2", "-d", "400ms", "--warmup", "200ms", "--wait", "--events", str(write_end), "-o", "json", "-p", "r", s.url,
                  stdin=subprocess.PIPE, pass_fds=[write_end])
    os.close(write_end)
    t.is_(child.stdout.readline(), b"ready\n", "--wait: ready")
    before = time.monotonic_ns()
    t.is_(os.read(read_end, 100), b"established\n", "--events: established before the start")
    child.stdin.write(b"go\n")
    out, err = child.communicate(timeout=LIMIT_S)
    events = b""
    while piece := os.read(read_end, 1000):
        events += piece
found = re.fullmatch(rb"window_begin (\d+)\nwindow_end (\d+)\n", events)
t.ok(found, "--events: both borders", events)
if found:
    begin, end = int(found[1]), int(found[2])
    t.is_(end - begin, 400000000, "the window is as long as asked")
    t.ok(begin >= before + 200000000, "it begins when the warm-up is over")
t.is_(json.loads(out)["result"]["timeTakenSeconds"], 0.4, "and is the window of the result")
with Serving() as s:
    child = start("-c", "1", "-n", "1", "-p", "r", "--wait", s.url, stdin=subprocess.DEVNULL)
    out, err = child.communicate(timeout=LIMIT_S)
t.is_((child.returncode, out, err.count(b"\n")), (2, b"ready\n", 1), "--wait: no line came", err)

# Interrupted: what was measured is printed, the signal is passed on.
for name, number in (("SIGINT", signal.SIGINT), ("SIGTERM", signal.SIGTERM)):
    with Serving() as s:
        child = start("-c", "2", "-d", "60s", "-o", "json", "-p", "r", "--wait", s.url, stdin=subprocess.PIPE)
        child.stdout.readline()
        child.stdin.write(b"\n")
        child.stdin.flush()
        time.sleep(0.5)
        child.send_signal(number)
        out, err = child.communicate(timeout=LIMIT_S)
    data = json.loads(out)
    t.is_(child.returncode, -number, f"{name}: raised again", err)
    t.ok(data["restbench"]["complete"] is False and data["restbench"]["ok"] > 0, f"{name}: prints what there is", data)
    valid(data, f"{name}: the result")
with Serving({"steps": [["hold"]]}) as s:
    child = start("-c", "2", "-n", "10", "-t", "50s", "-o", "json", "-p", "r", "--wait", s.url, stdin=subprocess.PIPE)
    child.stdout.readline()
    child.stdin.write(b"\n")
    child.stdin.flush()
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=20)
    t.is_(json.loads(out)["restbench"]["in_flight"], 2, "SIGINT: does not wait for a server that hangs")

# What cannot be, in a line, before anything is sent.
with Serving() as s:
    refused("-t 2", "-t 2: a timeout is a duration such as 2s; for threads use --threads 2", "-t", "2", s.url)
    refused("-c 0", "-c 0 is not possible", "-c", "0", s.url)
    refused("-n 0", "-n 0 is not possible", "-n", "0", s.url)
    refused("-d 0s", "-d: the duration must be", "-d", "0s", s.url)
    refused("-d 10", "-d 10: give a duration", "-d", "10", s.url)
    refused("-r 0", "-r 0 is not possible", "-r", "0", s.url)
    refused("-b and -f", "a request has one body", "-b", "x", "-f", "y", s.url)
    refused("-f", "/no/such/file", "-f", "/no/such/file", s.url)
    refused("--engine", "--engine kqueue: give auto, epoll or io_uring", "--engine", "kqueue", s.url)
    refused("-o", "-o xml: give plain-text (pt) or json (j)", "-o", "xml", s.url)
    refused("-p", "-p x: give some of intro, progress, result", "-p", "x", s.url)
    refused("--events", "--events 77: this descriptor is not open", "--events", "77", s.url)
    refused("no URL", "give the URL", "-c", "1")
    refused("two URLs", "one URL", s.url, s.url)
t.is_(s.report["seen"], 0, "nothing was sent")
with Serving() as s:
    import resource

    limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))  # noqa: E731
    child = start("-c", "500", s.url, preexec_fn=limit)
    out, err = child.communicate(timeout=LIMIT_S)
if os.geteuid() == 0 and child.returncode == 0:
    t.ok(True, "open files: raised, as root may")
else:
    t.is_((child.returncode, out), (2, b""), "open files: exit 2", err)
    t.has(err.decode(), "needs 564 open files, the limit is 100", "open files: says how many")

# The engine, and why.
with Serving() as s:
    got, data = load(t, "-c", "2", "-n", "4", s.url)
t.ok(len(data["restbench"]["engine_reason"]) > 10, "auto says why", data["restbench"])
with Serving() as s:
    got, data = load(t, "-c", "2", "-n", "4", "-r", "100", s.url)
t.is_(data["restbench"]["engine"], "epoll", "auto: epoll on a schedule")

# A decimal comma changes nothing.
locale = os.path.join(t.folder, "locale")
os.mkdir(locale)
made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", os.path.join(locale, "de_DE.UTF-8")],
                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
german = {"LOCPATH": locale, "LC_ALL": "de_DE.UTF-8"}
spoken = subprocess.run([sys.executable, "-c", "import locale; locale.setlocale(locale.LC_ALL, ''); print(f'{1.5:n}')"],
                        env={**os.environ, **german}, capture_output=True, text=True)
t.is_(spoken.stdout, "1,5\n", "there is a locale with a decimal comma to test with")
with Serving() as s:
    got = t.run("load", "-n", "10", "-c", "1", "-t", "1.5s", "-o", "json", "-p", "r", s.url, env=german)
    t.is_(json.loads(got.out)["spec"]["timeoutSeconds"], 1.5, "JSON in a locale with a decimal comma", got.out + got.err)
    got = t.run("load", "-n", "10", "-c", "1", "-r", "50.5", s.url, env=german)
    t.ok(got.status == 0 and not re.search(r"\d,\d", got.out.replace("2xx", "")), "text in it", got.out + got.err)

t.done()
