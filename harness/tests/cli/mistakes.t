#!/usr/bin/env python3
"""TAP: what can be typed wrong for a run is one line on stderr and exit status 2, before anything is started or written."""

import os
import subprocess

from study import Study
from tap import RESTBENCH, Tap

t = Tap()
study = Study(t.path("study"), {"go-nethttp": "", "go-nethttp-old": "", "c-reference": ""})


def refuses(arguments, part, name, status=2):
    got = t.run(*study.arguments(*arguments))
    t.ok(got.status == status and len(got.err.splitlines()) == 1 and part in got.err, name,
         f"status {got.status}, expected {status} and {part!r} in\n{got.err}")


refuses(["--servers", "rsut"], 'no row matches "rsut"; nearest:', "a server that is not there")
refuses(["--servers", ""], "the pattern is empty", "an empty pattern")
refuses(["--servers", "["], "at offset 1", "a broken expression")
refuses(["--tests", "pingg"], 'no test matches "pingg"; nearest: ping', "a test that is not there")
refuses(["--rounds", "0"], "--rounds 0", "no rounds")
refuses(["--seconds", "1e3"], "--seconds 1e3", "seconds that are no plain number")
refuses(["--connections", "50,50"], "--connections 50,50", "the same connections twice")
refuses(["--security", "basic"], "--security basic", "an unknown security")
refuses(["--cpus", "0/4096"], "4096", "a CPU that is not there")
refuses(["--cpus", "0/0"], "--cpus", "one CPU on both sides")
refuses(["--dry-run", "--cpus", "0/4096"], "4096", "a plan is refused as its run would be")
refuses(["--tool", "ab"], "restbench, bombardier", "an unknown load tool names those that there are")
refuses(["--name", "a/b"], "--name a/b", "a name that is no file name")
refuses(["--conections", "5"], "did you mean --connections?", "a mistyped option")
t.ok(not os.path.exists(study.data) or os.listdir(study.data) == [], "no file was written")

got = t.run(*study.arguments("--dry-run", "--servers", "go|go-nethttp"))
t.is_([line for line in got.out.splitlines() if line.startswith("round")], ["round 1  go-nethttp  ping  4"],
      "alternatives are tried until one spans the name", got.out)
got = t.run(*study.arguments("--dry-run", "--servers", "GO-NETHTTP|c-reference"))
t.is_(len([line for line in got.out.splitlines() if line.startswith("round")]), 2, "in any case of letters", got.out)

study.add_server("ours")
for pattern, rows in (("ours|c-reference", ["c-reference", "ours"]), ("ours", ["ours"]), (".*", ["go-nethttp", "go-nethttp-old", "c-reference"])):
    got = t.run(*study.arguments("--dry-run", "--servers", pattern))
    t.is_([line.split()[2] for line in got.out.splitlines() if line.startswith("round")], rows,
          f"--servers {pattern}: a folder that is named outright takes part, also without the study", got.out + got.err)
got = t.run(*study.arguments("--dry-run", "--servers", "ours|c-reference"))
t.has(got.err, f"plan       ours: not in {study.path}, taken from ", "and that is said")

study.add_server("c-reference", "", title="Server go-nethttp")
refuses([], "have the same title", "two rows with one title")
study.add_server("c-reference", "", requires=[{"name": "nosuchtool", "command": ["nosuchtool", "--version"],
                                               "at_least": "1.0", "hint": "there is none"}])
got = t.run(*study.arguments("--servers", "c-reference"))
t.is_(got.status, 1, "all that matched lack something: status 1", got.err)
t.has(got.err, "needs nosuchtool 1.0 or newer: not found; there is none", "and the reason is said")
got = t.run(*study.arguments("--dry-run"))
t.has(got.out, "skip       c-reference: needs nosuchtool", "the plan says what is skipped")

one = subprocess.run(["taskset", "-c", str(min(os.sched_getaffinity(0))), RESTBENCH,
                      *study.arguments("--servers", "go-nethttp")], capture_output=True, text=True, timeout=120)
t.ok(one.returncode == 0 and "unpinned" in one.stderr, "with one allowed CPU it runs unpinned, and says so", one.stderr)
t.has(one.stdout, "The run was not pinned: servers and load generator shared the CPUs.", "so does what it prints")
one = subprocess.run(["taskset", "-c", str(max(os.sched_getaffinity(0))), RESTBENCH,
                      *study.arguments("--servers", "go-nethttp", "--dry-run")], capture_output=True, text=True, timeout=120)
t.has(one.stdout, f"one allowed CPU ({max(os.sched_getaffinity(0))}): runs unpinned", "and so does its plan")

# The recipe of a server is held to the same rules as the study.
recipe = os.path.join(study.folder, "servers", "go-nethttp", "server.json")
with open(recipe, encoding="utf-8") as file:
    good = file.read()
for edit, part, name in (
    (('"format": 1,', '"format": 1,\n  "format": 1,'), ':3:10: duplicate object key near \'"format"\'', "a key twice"),
    (('"approach"', '"aproach"'), 'unknown key "aproach"; did you mean "approach"?', "an unknown key"),
    (('"start_timeout_s": 20', '"start_timeout_s": 1e9'), '"start_timeout_s" is out of range', "a number out of range"),
    (('"start_timeout_s": 20', '"start_timeout_s": "20"'), '"start_timeout_s"', "a string for a number"),
    (('"python3"', '""'), '"command" must be a program and its arguments', "an empty command"),
    (('"format"', '"requires": [{"env": []}], "format"'), "list of names", "no variable of several"),
    (('"format"', '"requires": [{"env": "A=B"}], "format"'), "is not a variable's name", "a variable with a value"),
):
    with open(recipe, "w", encoding="utf-8") as file:
        file.write(good.replace(*edit))
    refuses([], part, f"server.json: {name}")
    refuses([], "servers/go-nethttp/server.json:", f"server.json: {name}: with its place")

t.done()
