#!/usr/bin/env python3
"""TAP: servers are built before the first cell, once for what their folder holds; a build that fails or hangs is told
with the last lines of its log and stops nobody else."""

import json
import os

from study import Study
from tap import Tap

t = Tap()
study = Study(t.path("study"), {"good": "", "fails": "", "hangs": "", "old": ""})
MAKE = 'echo "$JOBS jobs"; echo once >>"$BUILD_CACHE/built"; env >built-with; '
HANGS = MAKE + "echo 'downloading the internet'; sleep 600 & wait"
FAILS = MAKE + "seq 100; echo 'main.c:7: no such thing' >&2; exit 3"


def build(script, **more):
    return {"build": {"command": ["/bin/sh", "-c", script], "env": {"SHAPE": "release"}, **more}}


study.add_server("good", "", **build(MAKE + "cp server.py made.py"), run={"command": ["python3", "-B", "made.py"], "env": {"FAULT": "", "MARK": "x"}})
study.add_server("fails", "", **build(FAILS))
study.add_server("hangs", "", **build(HANGS, timeout_s=2))
study.add_server("old", "", requires=[{"name": "cat", "command": ["cat", "--version"], "pattern": r"(\d+\.\d+)",
                                       "at_least": "99.1", "hint": "write one"}])
CALLER = {"https_proxy": "http://127.0.0.1:1", "SSL_CERT_FILE": "/etc/ssl/some.pem", "PGPASSWORD": "x", "TZ": "Asia/Tokyo",
          "JAVA_TOOL_OPTIONS": "-Xmx1m", "LD_LIBRARY_PATH": "/nowhere"}


def built(name):
    path = os.path.join(study.state, "cache", name, "built")
    if not os.path.exists(path):
        return 0
    with open(path, encoding="utf-8") as file:
        return len(file.readlines())


got = t.run(*study.arguments(), env=CALLER)
t.is_(got.status, 1, "a build that failed gives status 1", got.err)
rows = {row["id"]: row for row in study.machine()["rows"]}
t.is_({name: row["status"] for name, row in rows.items()},
      {"good": "measured", "fails": "failed", "hangs": "failed", "old": "skipped"}, "and stops nobody else", got.err)
t.has(got.err, "fails: the build failed (exited 3); log: ", "it is said how it ended, and where its log is")
t.has(got.err, "100\nmain.c:7: no such thing", "with the log's last lines")
t.hasnt(got.err, "\n50\n", "and not all of them")
t.has(got.err, "hangs: the build failed (not ready within its time (build.timeout_s))", "one that hangs is ended")
t.has(got.err, "downloading the internet", "with its last line, too")
t.is_(study.processes(), [], "with all that it started")
t.has(got.err, "skip       old: needs cat 99.1 or newer: found ", "a tool that is too old skips the row by name")
for name, part in (("fails", "exited 3"), ("hangs", "not ready within its time"), ("old", "needs cat 99.1")):
    t.has(got.out, part, f"{name} stands below the tables with its reason")
t.ok(os.path.exists(rows["fails"]["reason"].split("log: ")[1].split("\n")[0]), "the log is there", rows["fails"])

folder = os.path.join(study.state, "build", "good")
names = [name for name in os.listdir(folder) if os.path.isdir(os.path.join(folder, name))]
with open(os.path.join(folder, names[0], "built-with"), encoding="utf-8") as file:
    env = dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)
t.is_((env.get("https_proxy"), env.get("SSL_CERT_FILE"), env.get("SHAPE"), env.get("LANG")),
      (CALLER["https_proxy"], CALLER["SSL_CERT_FILE"], "release", "C.UTF-8"), "a build has proxies, certificates and its own variables", env)
t.is_([name for name in ("PGPASSWORD", "TZ", "JAVA_TOOL_OPTIONS", "LD_LIBRARY_PATH") if name in env], [],
      "and nothing else of the caller's")

record = rows["good"]
t.is_((record["build"]["command"][0], record["build"]["env"]["https_proxy"], record["build"]["env"]["SHAPE"]),
      ("/bin/sh", True, "release"), "the record has what a build got, what is the caller's own by name", record["build"])
t.is_(sorted(record["launch"]["env"]), ["FAULT", "HOME", "HOST", "LANG", "MARK", "PATH", "PORT", "PROCESSES", "RESTBENCH_RUN"],
      "and exactly what its server got", record["launch"])
launch = study.machine()["run"]["tool_launch"]
t.is_(sorted(launch["env"]), ["HOME", "LANG", "PATH", "RESTBENCH_RUN"], "and its load tool", launch)
t.ok(all(limit["soft"] is not None for limit in launch["limits"].values()), "with every limit of the login", launch)

got = t.run(*study.arguments())
t.is_((built("good"), built("fails")), (1, 2), "what was built is not built again, what failed is", got.err)
listed = t.run("list", "--json", "--servers-dir", os.path.join(study.folder, "servers"), "--state", study.state)
t.is_({row["id"]: row["built"] for row in json.loads(listed.out)["rows"]},
      {"good": True, "fails": False, "hangs": False, "old": False}, "list knows it", listed.err)
with open(os.path.join(study.folder, "servers", "good", "server.py"), "a", encoding="utf-8") as file:
    file.write("# changed\n")
got = t.run(*study.arguments("--servers", "good"))
t.is_((got.status, built("good")), (0, 2), "a folder that changed is built again", got.err)
t.done()
