#!/usr/bin/env python3
"""TAP: `restbench duel` builds two revisions, folders or commands, measures them in turn, and says what differs."""

import csv
import glob
import json
import os
import re
import subprocess

from study import Study
from tap import Tap

t = Tap()
REPO = t.path("repo")
STATE, DATA, REPORTS = t.path("state"), t.path("data"), t.path("reports")
FAST, SLOW = "time.sleep(0.004)", "time.sleep(0.012)"


def git(*args):
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *identity, *args], cwd=REPO, check=True, capture_output=True)


def edit(path, old, new):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    assert old in text, (path, old)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(old, new))


def duel(*args, pairs=3):
    return t.run("duel", "--servers-dir", os.path.join(REPO, "servers"), "--config", study.path, "--state", STATE, "--data",
                 DATA, "--reports", REPORTS, "--pairs", str(pairs), "--warmup", "0.1", "--seconds", "0.4", *args)


def lines(part):
    """Of the file written last."""
    found = sorted(glob.glob(os.path.join(DATA, f"*{part}*.csv")), key=os.path.getmtime)
    with open(found[-1], encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# A repository with a server on main, a slower one on a branch, and something uncommitted in the working tree.
study = Study(REPO, {"thing": "", "ref": ""})
os.chmod(t.folder, 0o755)
SOURCE = os.path.join(REPO, "servers", "thing", "server.py")
edit(os.path.join(REPO, "servers", "ref", "server.json"), '"format": 1', '"format": 1, "reference": true')
edit(SOURCE, "    return ANSWER", f"    {FAST}\n    return ANSWER")
git("init")
git("add", ".")
git("commit", "-m", "fast")
git("checkout", "-q", "-b", "slow")
edit(SOURCE, FAST, SLOW)
git("commit", "-a", "-m", "slow")
git("checkout", "-q", "main")
edit(SOURCE, FAST, "sys.exit(9)")

got = duel("main", "slow", "--server", "thing")
t.is_(got.status, 0, "two revisions: exit status 0, whatever the verdict", got.err)
t.ok("ping, 4" in got.out and "worse: " in got.out and "slower" in got.out, "the planted slowdown is found", got.out)
t.has(got.out, "A/A  base", "what base differs from itself by is said")
t.has(got.out, "control  Server ref: ", "and what the reference did")
t.has(got.out, "proof  12 cells, each of a server that had answered its contract", "and what was checked")
t.ok(got.err.count("/3 pairs]") == 2 and "ETA" in got.err, "the table after each pair", got.err)
order = [line["server"] for line in lines("duel-thing")]
arms = ["base · Server thing", "head · Server thing", "base again · Server thing", "Server ref"]
t.is_(order, arms + arms[::-1] + arms, "in turn: there, back, there")
machine = json.load(open(glob.glob(os.path.join(DATA, "*duel-thing*_machine.json"))[0], encoding="utf-8"))
t.is_([(row["id"], row["status"], row["reference"]) for row in machine["rows"]],
      [("base", "measured", False), ("head", "measured", False), ("again", "measured", False), ("ref", "measured", True)],
      "rows of the run")
with open(glob.glob(os.path.join(REPORTS, "*duel-thing*.md"))[0], encoding="utf-8") as file:
    report = file.read()
t.ok(report.startswith("# Duel: slow (") and "| Rate, ping, 4, requests/s |" in report and "slower" in report,
     "the report", report)
done = subprocess.run(["git", "status", "--porcelain", "--branch"], cwd=REPO, capture_output=True, text=True)
t.ok(done.stdout.startswith("## main\n") and " M servers/thing/server.py" in done.stdout and
     not os.path.isdir(os.path.join(REPO, ".git", "worktrees")), "the working tree is left alone", done.stdout)
t.is_(study.processes(), [], "nothing is left running")

for more, pairs in re.findall(r"about (\d+) more pairs(?:: --resume --pairs (\d+))?", got.out.split("[3 pairs]")[-1]):
    if pairs != str(int(more) + 3):
        t.ok(False, "who needs more pairs is told how to measure them", got.out)
        break
else:
    t.ok(True, "who needs more pairs is told how to measure them")
t.hasnt(got.out, "needs a control", "no control is asked for where there is one")

got = duel("main", "slow", "--server", "thing", "--resume", pairs=4)
t.is_(got.status, 0, "--resume with more pairs goes on with a duel that was done", got.err)
t.is_(len(lines("duel-thing")), 16, "in the same file")
t.has(got.out, "[4 pairs]", "four pairs now")

got = duel("main", "slow", "--server", "thing", "--until", "100%", "--control", "none", pairs=6)
t.ok(got.status == 0 and "[3 pairs]" in got.out and "enough" in got.err, "--until ends it when it is precise enough",
     got.out + got.err)
t.has(got.out, "control  none was measured", "no control was wanted")

# Two folders; one pair cannot show noise. A variant stays a variant.
A, B = t.path("a"), t.path("b")
for path, nap in ((A, FAST), (B, SLOW)):
    subprocess.run(["cp", "-r", os.path.join(REPO, "servers", "ref"), path], check=True)
    edit(os.path.join(path, "server.py"), "    return ANSWER", f"    {nap}\n    return ANSWER")
got = duel(A, B, pairs=1)
t.ok(got.status == 0 and "one round shows no noise" in got.out, "two folders, one pair", got.out + got.err)
t.ok(f"base folder {A}, head folder {B}" in got.out, "which they were", got.out)
subprocess.run(["git", "checkout", "-q", "--", "."], cwd=REPO, check=True)
recipe = os.path.join(REPO, "servers", "thing", "server.json")
edit(recipe, '"run": {', '"variants": [{"name": "x", "title": "Thing x"}, {"name": "y", "title": "Thing y"}], "run": {')
got = duel("--commands", "python3 -B server.py", "python3 -B -O server.py", "--server", "thing:y", pairs=1)
t.ok(got.status == 0 and "base command python3 -B server.py, head command python3 -B -O server.py" in got.out,
     "two commands", got.out + got.err)
t.is_([line["server"] for line in lines("duel-thing")][:2], ["base · Thing y", "head · Thing y"], "in the variant asked for")

# A head that does not work is no improvement and no silence.
edit(os.path.join(B, "server.py"), "def main():", "def main():\n    sys.exit(7)")
got = duel(A, B, pairs=2)
t.ok(got.status != 0 and "exited 7" in got.err, "a head that does not start fails, with the reason", got.out + got.err)

for args, expected in [(("main", "slow"), "--server"), (("main", "nosuch", "--server", "thing"), "nosuch: neither"),
                       (("main", "slow", "--server", "nope"), "no folder"), (("main",), "BASE and HEAD"),
                       (("main", "slow", "--server", "thing", "--control", "nope"), "--control nope"),
                       (("--commands", "a", "b"), "--server ROW")]:
    got = duel(*args)
    t.ok(got.status == 2 and expected in got.err and got.err.count("\n") == 1, f"usage: {expected}", got.err)
got = duel("main", "slow", "--server", "thing", pairs=0)
t.ok(got.status == 2 and "--pairs 0" in got.err, "usage: --pairs 0", got.err)
got = duel("main", "slow", "--server", "thing", "--dry-run", pairs=1)
t.ok(got.status == 0 and got.out.count("round 1") == 4, "--dry-run prints the plan", got.out + got.err)
t.done()
