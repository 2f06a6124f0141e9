#!/usr/bin/env python3
"""TAP: `run --tool` with each load tool that is installed, and with tools that say nothing or nonsense."""

import glob
import json
import os
import re
import shutil
import sys

from study import SERVERS, Study
from tap import CASES, HERE, Tap

sys.dont_write_bytecode = True
t = Tap()
PEERS = os.path.abspath(os.path.join(HERE, "..", "..", "..", "build", "bench", "bin"))
PATH = os.environ["PATH"] + os.pathsep + PEERS
TOOLS = ("wrk", "h2load")  # run by run, each with its calibrations; tools.t has every driver
CAPTURED = os.path.abspath(os.path.join(CASES, "tools", "bombardier-ok"))

# What a bombardier does instead of measuring, by the test that it is called for.
FAKES = {
    "good": f"cat '{CAPTURED}'",
    "silent": "exit 0",
    "half": f"head -c 300 '{CAPTURED}'",
    "exit-3": f"cat '{CAPTURED}'; echo 'it went wrong' >&2; exit 3",
    "floods": "head -c 50000000 /dev/zero | tr '\\0' x",
    "other-words": "echo 'usage: something else'",
}


def measured(tool):
    study = Study(t.path("with-" + tool), {"good": ""}, seconds=1)
    got = t.run(*study.arguments("--tool", tool), env={"PATH": PATH})
    t.is_(got.status, 0, f"{tool}: the run is well", got.err)
    lines = study.csv()
    t.is_(len(lines), 1, f"{tool}: one line of CSV", got.err)
    cells = [d for d in study.details() if d.get("kind") is None]
    if len(lines) != 1 or len(cells) != 1:
        return
    fields = lines[0].split(",")
    t.ok(float(fields[5]) > 0 and int(fields[8]) > 0 and fields[9] == "0", f"{tool}: a rate, answers, no errors", lines)
    t.is_(fields[6] == "", tool == "h2load", f"{tool}: a median, unless it has none: then it is empty", lines)
    t.ok(cells[0]["tool"]["name"] == tool and cells[0]["tool"]["version"], f"{tool}: named with its version",
         cells[0]["tool"])


def fake(name, cases, executable=True):
    folder = t.path("fake-" + name)
    os.makedirs(folder)
    path = os.path.join(folder, "bombardier")
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n[ \"$1\" != --version ] || { echo 'bombardier version v1.2.6'; exit 0; }\n")
        file.write("for url; do :; done\ncase ${url##*/} in\n")
        file.writelines(f"{word}) {script} ;;\n" for word, script in cases.items())
        file.write("esac\n")
    os.chmod(path, 0o755 if executable else 0o644)
    return folder


def nonsense():
    tests = [{"name": name, "title": name, "path": "/" + name, "expect": {"json": {"ok": True}}} for name in FAKES]
    study = Study(t.path("study-nonsense"), {"good": ""}, seconds=1, tests=tests)
    got = t.run(*study.arguments("--tool", "bombardier"),
                env={"PATH": fake("nonsense", FAKES) + os.pathsep + os.environ["PATH"]})
    t.is_(got.status, 1, "a tool that measures nothing: exit 1", got.err)
    t.is_([line.split(",")[3] for line in study.csv()], ["good"], "only the cell with a result is in the CSV", got.err)
    reasons = {d["test"]: d["reason"] for d in study.details() if d.get("kind") == "failed"}
    for name in FAKES:
        if name != "good":
            t.ok("bombardier" in reasons.get(name, ""), f"{name}: the details name the tool", json.dumps(reasons))
    t.ok("3" in reasons.get("exit-3", "") and "it went wrong" in reasons.get("exit-3", ""),
         "its exit status and last line are told", json.dumps(reasons))


for tool in TOOLS:
    if shutil.which(tool, path=PATH):
        measured(tool)
    else:
        t.ok(True, f"{tool} # SKIP {tool} is not installed")

nonsense()

# HTTP/2, by a server that counts its requests of each kind.
LACKS = [program for program in ("go", "h2load") if not shutil.which(program, path=PATH)]
if LACKS:
    t.ok(True, f"HTTP/2 # SKIP {LACKS[0]} is not installed")
else:
    study = Study(t.path("http2"), {}, rows=["http2"], servers_folder=SERVERS, seconds=1)
    got = t.run(*study.arguments("--tool", "h2load-http2"), env={"PATH": PATH})
    t.is_((got.status, len(study.csv())), (0, 1), "HTTP/2: one cell", got.err)
    said = [re.search(r"HTTP/1.1 (\d+), HTTP/2 (\d+)", open(path, encoding="utf-8").read())
            for path in glob.glob(os.path.join(study.state, "logs", "**", "*.log"), recursive=True)]
    counts = [tuple(map(int, found.groups())) for found in said if found]
    ok = int(study.csv()[0].split(",")[8]) if study.csv() else 0
    t.ok(len(counts) == 1 and counts[0][0] < 20 and counts[0][1] >= ok > 0, "the server saw HTTP/2", (counts, ok))

study = Study(t.path("study-not-executable"), {"good": ""})
got = t.run(*study.arguments("--tool", "bombardier"),
            env={"PATH": fake("not-executable", {}, executable=False) + ":/usr/bin:/bin"})
t.is_(got.status, 2, "a tool that is not executable: exit 2 before anything runs", got.err)
t.ok("bombardier" in got.err and len(got.err.strip().splitlines()) == 1, "in one line that names it", got.err)

got = t.run(*study.arguments("--tool", "ab"))
t.is_(got.status, 2, "a tool that nobody drives: exit 2", got.err)
t.ok("wrk" in got.err and "h2load" in got.err, "and those that there are", got.err)

t.done()
