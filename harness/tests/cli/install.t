#!/usr/bin/env python3
"""TAP: what `make install` puts elsewhere works without the source tree; man pages and completions are whole."""

import json
import os
import shutil
import subprocess

from tap import CASES, HERE, Tap

ROOT = os.path.realpath(os.path.join(HERE, "..", "..", ".."))
GOLDEN = os.path.realpath(os.path.join(CASES, "golden", "2026-11-05_no-auth"))

t = Tap()
made = subprocess.run(["make", "-s", "-C", ROOT, "install", f"DESTDIR={t.path('root')}", "PREFIX=/usr"],
                      capture_output=True, text=True, timeout=600)
t.is_(made.returncode, 0, "make install", made.stderr)
program = t.path("root/usr/bin/restbench")
shutil.copy(GOLDEN + ".csv", t.path("x.csv"))


def run(*arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60, cwd=t.folder)


got = run("report", "x.csv", "--tables")
with open(GOLDEN + ".md", encoding="utf-8") as file:
    t.is_(got.stdout, file.read(), "a foreign CSV gives the golden tables", got.stderr)
got = run("list", "--json", "--state", t.path("state"))
rows = json.loads(got.stdout)
t.ok("c-reference" in [row["id"] for row in rows["rows"]], "list finds the installed servers", got.stderr)
got = run("run", "--dry-run", "--servers", "c-reference", "--tests", "ping")
t.has(got.stdout, "round 1  c-reference  ping  50", "run finds the installed study")

try:
    import jsonschema
    with open(os.path.join(ROOT, "harness", "schema", "list.schema.json"), encoding="utf-8") as file:
        jsonschema.validate(rows, json.load(file))
    t.ok(True, "list --json fits its schema")
except ImportError:
    t.ok(True, "list --json fits its schema # SKIP no Python package jsonschema")

commands = [line.split()[0] for line in run("--help").stdout.splitlines() if line.startswith("  ")]
t.ok(len(commands) >= 14, "--help lists the commands", commands)
pages = os.listdir(t.path("root/usr/share/man/man1"))
t.is_(sorted(pages), sorted(["restbench.1"] + [f"restbench-{c}.1" for c in commands]), "a page for each command")
for command in commands:
    got = run(command, "--help")
    t.ok(got.returncode == 0 and got.stdout.startswith(f"usage: restbench {command}"), f"{command} --help", got.stderr)
    got = run(command, "--no-such-option")
    t.ok(got.returncode == 2 and len(got.stderr.splitlines()) == 1 and "no-such-option" in got.stderr,
         f"{command}: an unknown option is one line and status 2", got.stderr)
bash = run("docs", "bash").stdout
t.is_(subprocess.run(["bash", "-n"], input=bash, text=True).returncode, 0, "bash reads its completion")
words = subprocess.run(["bash", "-c", bash + "\nCOMP_WORDS=(restbench run --dat); COMP_CWORD=2; _restbench; "
                                             "echo ${COMPREPLY[@]}"], capture_output=True, text=True).stdout.split()
t.is_(words, ["--database", "--data"], "and completes an option", bash)
got = run("rnu")
t.is_((got.returncode, got.stderr), (2, "restbench: rnu: no such command; did you mean run?\n"), "a mistyped command")
t.is_(run().returncode, 2, "no command at all: status 2")
t.has(run("--version").stdout, "libcurl", "--version names the libraries")
t.done()
