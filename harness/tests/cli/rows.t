#!/usr/bin/env python3
"""TAP: the whole main job, small: every row that this machine can build is built from locked versions, held to the
contract and measured, without security and with the JWT check; what is missing is skipped by name, and so is a row whose
version command hangs.

A toolchain named in RESTBENCH_EXPECT_TOOLCHAINS (go cargo java node) must be there: its absence is a failure."""

import json
import os
import subprocess

from study import Study
from tap import HERE, RESTBENCH, Tap

ROOT = os.path.realpath(os.path.join(HERE, "..", "..", ".."))
EXPECTED = os.environ.get("RESTBENCH_EXPECT_TOOLCHAINS", "").split()
NEEDS = {"go": "go-nethttp", "cargo": "rust-axum", "java": "spring-boot", "node": "node-fastify:6"}
TESTS = 4

t = Tap()


def state_with_caches():
    """A cluster of our own; builds are kept where every run keeps them."""
    state = t.path("state")
    default = os.environ.get("RESTBENCH_STATE") or (
        "/var/lib/restbench" if os.geteuid() == 0 else os.path.expanduser("~/.local/state/restbench"))
    os.makedirs(state)
    os.chmod(t.folder, 0o755)
    for name in ("build", "cache"):
        os.makedirs(os.path.join(default, name), exist_ok=True)
        os.symlink(os.path.join(default, name), os.path.join(state, name))
    return state


def restbench(*arguments, seconds=1800):
    return subprocess.run([RESTBENCH, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=seconds,
                          stdin=subprocess.DEVNULL, env={**os.environ, "RESTBENCH_SHARE_CPUS": "1"})


def study_without_surroundings():
    """The same rows and tests; calibrations, the ceiling and a second phase were there in the other mode."""
    with open(os.path.join(ROOT, "config", "study.json"), encoding="utf-8") as file:
        study = json.load(file)
    study.update(calibration=False, ceiling=False, phases=study["phases"][:1], contract=os.path.join(ROOT, "config", "contract.json"),
                 servers_folder=os.path.join(ROOT, "servers"))
    del study["$schema"]
    study["database"].update({key: os.path.join(ROOT, "sql", f"{key}.sql") for key in ("schema", "seed", "reset", "checksum")})
    path = t.path("study.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(study, file)
    return path


def naps(unique):
    """Pids of the `sleep` that somebody started with this argument."""
    done = subprocess.run(["pgrep", "-f", "-x", f"sleep {unique}"], capture_output=True, text=True, check=False)
    return done.stdout.split()


# A version command that says nothing has a minute, which passes while the rows are built and measured.
nap = f"600.{os.getpid()}"
hanging = Study(t.path("hanging"), {})
hanging.add_server("hanging", "", requires=[{"name": "tool", "command": ["/bin/sh", "-c", f"sleep {nap} & wait"],
                                             "pattern": r"(\d+)", "at_least": "1", "hint": "install it"}])
listing = subprocess.Popen([RESTBENCH, "list", "--servers-dir", os.path.join(hanging.folder, "servers")],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
t.ok(hanging.wait_for(lambda: naps(nap)), "a version command hangs")

state = state_with_caches()
rows = {row["id"]: row for row in json.loads(restbench("list", "--json", "--state", state).stdout)["rows"]}
for tool, row in NEEDS.items():
    name = f"{row} can be built here"
    if rows[row]["available"]:
        t.ok(True, name)
    elif tool in EXPECTED:
        t.ok(False, name, rows[row]["lacks"])
    else:
        t.ok(True, f"{name} # SKIP {rows[row]['lacks']}")
t.has(rows["dext:fixed"]["lacks"], "DEXT_SERVER", "a row without its binary says what it lacks")
usable = [i for i, row in rows.items() if row["available"] and row["lacks"] is None and not i.startswith("external")]

for mode, security, phases, study in (("no-auth", "none", 2, "config/study.json"),
                                      ("jwt", "jwt", 1, study_without_surroundings())):
    data = t.path(mode)
    got = restbench("run", study, "--rounds", "1", "--seconds", "0.3", "--warmup", "0.1", "--security",
                    security, "--data", data, "--state", state)
    t.is_(got.returncode, 0, f"{mode}: a study of every row ends well", got.stderr)
    files = sorted(os.listdir(data)) if os.path.isdir(data) else []
    csv = [name for name in files if name.endswith(f"_{mode}.csv")]
    t.is_(len(csv), 1, f"{mode}: one CSV", files)
    if not csv:
        continue
    path = os.path.join(data, csv[0])
    machine = json.load(open(path[:-4] + "_machine.json", encoding="utf-8"))
    states = {row["id"]: row["status"] for row in machine["rows"]}
    for row in usable:
        if row in states:
            t.is_(states[row], "measured", f"{mode}: {row} is measured")
    lines = open(path, encoding="utf-8").read().splitlines()
    t.is_(len(lines) - 1, TESTS * phases * list(states.values()).count("measured"), f"{mode}: a line for each cell")
    t.has(got.stdout, "DEXT_SERVER", f"{mode}: rows not measured stand below the tables with the reason")
    details = [json.loads(line) for line in open(path[:-4] + "_details.jsonl", encoding="utf-8")]
    sums = [d for d in details if d.get("kind") == "reconciliation"]
    t.ok(sums and all(d["ok"] is not False for d in sums), f"{mode}: the database confirms every server", sums)
    pools = {d["row"]["id"]: d["database"]["connections_max"] for d in details
             if "kind" not in d and d["test"] == "select_1"}
    t.ok(all(n is None or n <= (12 if i == "node-fastify:6" else 16) for i, n in pools.items()),
         f"{mode}: nobody opens more connections than its pool", pools)
    checked = restbench("verify", path)
    t.is_(checked.returncode, 0, f"{mode}: verify finds no contradiction", checked.stdout + checked.stderr)

said, _ = listing.communicate(timeout=120)
t.is_((listing.returncode, naps(nap)), (0, []), "a version command that hangs is ended, with all that it started", said)
t.has(said, "needs tool 1 or newer", "and its row lacks that tool")
t.done()
