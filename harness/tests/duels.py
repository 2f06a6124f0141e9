#!/usr/bin/env python3
"""Duels on real builds of servers/c-reference, for `make duels`: against itself, with a slowdown of 5 % and of 20 % planted
in its source on a branch, and with another compiler setting. Prints what each found and what a pair took.

usage: duels.py [PAIRS [MORE ARGUMENTS OF restbench duel...]]
The slowdown is a loop on every request whose time is that share of what a request of ping costs the server; that cost is
measured first, by a duel of one pair.
"""

import csv
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
RESTBENCH = os.environ.get("RESTBENCH", os.path.join(ROOT, "restbench"))
PAIRS = sys.argv[1] if len(sys.argv) > 1 else "8"
MORE = sys.argv[2:]
FOLDER = tempfile.mkdtemp(prefix="restbench-duels-")
os.chmod(FOLDER, 0o755)
SERVERS = os.path.join(FOLDER, "servers")
ROW = os.path.join(SERVERS, "c-reference")
STATE = os.environ.get("RESTBENCH_STATE", os.path.join(FOLDER, "state"))
SLOW = """static void planted(long ns)
{
    struct timespec a, b;

    clock_gettime(CLOCK_MONOTONIC, &a);
    do
        clock_gettime(CLOCK_MONOTONIC, &b);
    while ((b.tv_sec - a.tv_sec) * 1000000000L + b.tv_nsec - a.tv_nsec < ns);
}

"""


def git(*args):
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main", *args],
                   cwd=ROW, check=True, capture_output=True)


def branch(name, edits):
    git("checkout", "-q", "-b", name, "main")
    for path, pattern, replacement in edits:
        path = os.path.join(ROW, path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        changed, count = re.subn(pattern, lambda m: replacement(m), text, count=1, flags=re.M)
        assert count == 1, (path, pattern)
        with open(path, "w", encoding="utf-8") as file:
            file.write(changed)
    git("commit", "-q", "-a", "-m", name)


def duel(base, head, pairs):
    began = time.monotonic()
    done = subprocess.run([RESTBENCH, "duel", base, head, "--server", "c-reference", "--servers-dir", SERVERS, "--state",
                           STATE, "--data", os.path.join(FOLDER, "data"), "--reports", os.path.join(FOLDER, "reports"),
                           "--pairs", pairs, "--tests", "ping|select_1", *MORE], cwd=ROOT, stdout=subprocess.PIPE,
                          text=True)
    if done.returncode != 0:
        sys.exit(f"duel {base} {head}: exit status {done.returncode}")
    print(done.stdout)
    return time.monotonic() - began


def cost_ns():
    """What a ping costs the server: CPU seconds / answers, of the CSV."""
    path = glob.glob(os.path.join(FOLDER, "data", "*_duel-*.csv"))[0]
    with open(path, encoding="utf-8", newline="") as file:
        cells = [row for row in csv.DictReader(file) if row["test"] == "ping"]
    costs = sorted(1e9 * float(row["cpu_server_s"]) / float(row["responses_2xx"]) for row in cells)
    return costs[len(costs) // 2]


def slower(ns):
    return [("http.c", r"^static void handle\(", lambda m: SLOW + m.group(0)),
            ("http.c", r"^    int64_t number;\n", lambda m: m.group(0) + f"    if (ping)\n        planted({ns:.0f});\n")]


def main():
    shutil.copytree(os.path.join(ROOT, "servers", "c-reference"), ROW)
    git("init")
    git("add", ".")
    git("commit", "-m", "as it is")
    duel("main", "main", "1")
    cost = cost_ns()
    branch("5-percent", slower(0.05 * cost))
    branch("20-percent", slower(0.20 * cost))
    branch("unoptimized", [("Makefile", r"-O2", lambda m: "-O0")])
    git("checkout", "-q", "main")
    print(f"a ping costs the server {cost / 1000:.2f} us\n")
    for head in ("main", "5-percent", "20-percent", "unoptimized"):
        print(f"== main against {head}")
        print(f"{duel('main', head, PAIRS) / int(PAIRS):.0f} s a pair\n", flush=True)


try:
    main()
finally:
    shutil.rmtree(FOLDER, ignore_errors=True)
