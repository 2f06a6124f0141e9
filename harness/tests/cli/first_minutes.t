#!/usr/bin/env python3
"""TAP: what a person sees in the first ten minutes: a quick look from its first line to what can be done next, an own
server that is wrong, and the commonest mistakes."""

import json
import os
import re
import shutil
import sys

sys.dont_write_bytecode = True
from study import ROOT, SERVERS  # noqa: E402
from tap import Tap  # noqa: E402

os.environ["RESTBENCH_SHARE_CPUS"] = "1"
t = Tap()
os.chmod(t.folder, 0o755)
QUICK = os.path.join(ROOT, "config", "quick.json")


def make_servers():
    """The reference, and one by hand that answers from memory or does not."""
    shutil.copytree(os.path.join(ROOT, "servers", "c-reference"), t.path("servers/c-reference"))
    folder = t.path("servers/ours")
    os.makedirs(folder)
    for source, name in (("minimal", "server.py"), ("minimal", "pgwire.py"), ("cheats", "cheat.py")):
        shutil.copy(os.path.join(SERVERS, source, name), folder)
    recipe = {"format": 1, "title": "Ours", "approach": "standard", "run": {"command": ["python3", "-B", "cheat.py"]},
              "variants": [{"name": mode, "title": f"Ours, {mode}", "env": {"CHEAT": mode}} for mode in ("honest", "canned")]}
    with open(os.path.join(folder, "server.json"), "w", encoding="utf-8") as file:
        json.dump(recipe, file)


def in_order(text, parts):
    """The first of the patterns that does not come behind the ones before it; None: all do."""
    at = 0
    for part in parts:
        found = re.compile(part, re.M).search(text, at)
        if found is None:
            return part
        at = found.end()
    return None


make_servers()
os.makedirs(t.path(".git"))  # a checkout, as far as can be seen
for name in ("config", "sql"):
    shutil.copytree(os.path.join(ROOT, name), t.path(name))
with open(QUICK, encoding="utf-8") as file:
    quick = json.load(file)
with open(t.path("config/quick.json"), "w", encoding="utf-8") as file:
    json.dump({**quick, "servers": ["c-reference", "ours:honest"], "calibration": False}, file)
got = t.run("run", "config/quick.json", "--state", "state", "--tests", "select_1", "--rounds", "3", "--seconds", "0.3", "--warmup", "0.1", "--connections", "4", "--ceiling", "no")
t.is_(got.status, 0, "a quick look", got.err)
missing = in_order(got.err, [
    r"^build      c-reference \d+ s$",
    r"^database   PostgreSQL \d+\.\d+, private, 100,000 rows, checksum ok$",
    r"^plan       6 cells, about \d+:\d\d; ",
    r"^check      c-reference \d+ of \d+$",
    r"^\[1/6\] round 1  c-reference  select_1  4   [\d.k]+/s   ETA \d+:\d\d$",
    r"^check      ours:honest \d+ of \d+$",
    r"^\[6/6\] round 3 ",
    r"^tables     reports/.*_no-auth\.md$",
    r"^html       reports/.*_no-auth\.html \(\d+ kB\)$",
    r"^done       6 cells, 0 errors, \d+ marks?$",
    r"^raw data   data/.*_no-auth\.csv$",
    r"^next       restbench run config/study\.json   \(the whole study, \d+:\d\d:\d\d with every server\)$",
    r"^next       restbench duel main HEAD --server ours:honest   \(was a change faster\?\)$"])
t.ok(missing is None, "says what it does, line by line", f"{missing!r} is not there, or not there in order, in\n{got.err}")
t.is_(got.err.count("check      "), 2, "each server's contract is told once")
missing = in_order(got.out, [
    r"^Select 1 record · 4 +requests/s +p99 ms +CPU us +db us +limited by$",
    r"^  C reference [^\n]*\* +[\d,]+ .*(database|server|latency|generator) \(",
    r"^  Ours, honest +[\d,]+ .*(database|server|latency|generator) \(",
    r"^\* a reference, not a competitor$",
    r"3 rounds: differences below about \d+ % cannot be told apart here\."])
t.ok(missing is None, "and ends with tables", f"{missing!r} is not there, or not there in order, in\n{got.out}")

got = t.run("check", "--config", "config/quick.json", "--state", "state", "ours:canned")
t.is_(got.status, 1, "a server that answers from memory", got.err)
missing = in_order(got.out, [
    r"\ATAP version 13$", r"^ok 1 - it starts, and the listener is its own$",
    r"^not ok \d+ - GET /clienti/42 after the row was changed$",
    r'^  # GET /clienti/42: citta: expected "Roma \d+", got "[^"]+": the answer was not read from the table$',
    r"^  # log: .*/logs/check-ours-canned\.log$", r"^1\.\.\d+$"])
t.ok(missing is None, "is told by its case, value and log", f"{missing!r} is not there, or not there in order, in\n{got.out}")

got = t.run("run", QUICK, "--servers", "rsut-axum", "--state", t.path("state"))
t.ok(got.status == 2 and got.err.startswith('restbench: --servers: no row matches "rsut-axum"; nearest: rust-axum; ') and
     got.err.endswith("(restbench list shows all)\n") and got.err.count("\n") == 1, "a mistyped server", got.err)
with open(QUICK, encoding="utf-8") as file:
    lines = file.read().replace('"warmup": {\n    "seconds": 0.5,\n    "connections": 50', '"warmup": {\n    "seconds": 0.5,\n    "connections": 0')
with open(t.path("study.json"), "w", encoding="utf-8") as file:
    file.write(lines)
at = next(i for i, line in enumerate(lines.splitlines(), 1) if '"connections": 0' in line)
got = t.run("run", "study.json", "--state", t.path("state"))
t.is_((got.status, got.err), (2, f'restbench: study.json:{at}:20: "connections": 0 is not possible; give at least 1\n'),
      "a value that is not possible")
got = t.run("load", "-t", "2", "http://127.0.0.1:8080/")
t.is_((got.status, got.err), (2, "restbench: -t 2: a timeout is a duration such as 2s; for threads use --threads 2\n"),
      "a timeout without its unit")
t.done()
