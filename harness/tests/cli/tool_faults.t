#!/usr/bin/env python3
"""TAP: load tools that say nothing, half of it, too much, or do not end: the cell fails with the tool's words, no line
of the CSV is made up, and the run goes on."""

import os

from study import Study
from tap import CASES, Tap

t = Tap()
GOOD = os.path.join(CASES, "tools", "bombardier-ok")
TOOLS = {
    "silent": "exit 0",
    "half": f"head -c 400 {GOOD}",
    "exit-3": f"cat {GOOD}; echo 'no more sockets' >&2; exit 3",
    "much": "head -c 200000000 /dev/zero",
    "sleeper": f"cat {GOOD}; exec sleep 3600",
}


def fake(name, script, mode=0o755):
    """A folder with such a bombardier, first in PATH."""
    folder = t.path(f"bin-{name}")
    os.makedirs(folder)
    path = os.path.join(folder, "bombardier")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\n[ "$1" = --version ] && {{ echo bombardier version v1.2.6; exit 0; }}\n{script}\n')
    os.chmod(path, mode)
    return {**os.environ, "PATH": f"{folder}:/usr/bin:/bin"}


def study_of(name):
    return Study(t.path(name), {"a": ""}, timeout="100ms", warmup={"seconds": 0, "connections": 1})


running = {}
for name, script in TOOLS.items():
    study = study_of(name)
    running[name] = (study, study.start("--tool", "bombardier", env=fake(name, script)))
    if name != "sleeper":
        running[name][1].wait(180)
for name, words in (("silent", "bombardier exited 0 and printed nothing"), ("half", "bombardier"),
                    ("exit-3", "bombardier exited 3: no more sockets"), ("much", "bombardier printed more than 32 MiB"),
                    ("sleeper", "bombardier does not end")):
    study, process = running[name]
    t.is_(process.wait(180), 1, f"{name}: the run comes to its end and exits with 1", study.err())
    failed = [d for d in study.details() if d.get("kind") == "failed"]
    t.is_(len(failed), 1, f"{name}: the cell is recorded as failed")
    t.has(failed[0]["reason"] if failed else "", words, f"{name}: with what the tool did")
    t.is_(study.csv(), [], f"{name}: no line of the CSV is made up")
    t.is_((study.processes(), study.groups()), ([], []), f"{name}: nothing is left running")

study = study_of("forbidden")
got = t.run(*study.arguments("--tool", "bombardier"), env=fake("forbidden", "", 0o644))
t.is_(got.status, 2, "a tool that is not executable is refused", got.err)
t.has(got.err, "no program bombardier in PATH", "by name")
t.is_(study.names(".csv"), [], "before any file is made")

t.done()
