#!/usr/bin/env python3
"""TAP: servers that cheat are refused by `restbench check`, each by the name of the case that it failed, and the
honest one that they are made of is not.

    cheats.t [CHEAT...]       only these
RESTBENCH names the program."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
SERVERS = os.path.join(ROOT, "harness", "tests", "servers")
RESTBENCH = os.environ.get("RESTBENCH", os.path.join(ROOT, "restbench"))
SECONDS = 600  # for one command; a shared machine is slow

INSERTED = "POST /clienti/batch inserts 100 rows, value by value and in order"
# What each must be refused for: all of these cases, and maybe others.
NONE = {
    "honest": [],
    "canned": ["GET /clienti/42 after the row was changed", "GET /clienti?pagina=3 after a row was changed"],
    "cache": ["GET /clienti/42 after the row was changed", "GET /clienti/120 answers 404 after the row was deleted"],
    "ninety-nine": [INSERTED, "POST /clienti/batch twice inserts 200 rows"],
    "disorder": [INSERTED],
    "rolls-back": [INSERTED, "POST a name of 81 characters is refused and none of the 100 is inserted"],
    "never-stores": [INSERTED, "POST a name of 81 characters is refused and none of the 100 is inserted"],
    "no-transaction": ["POST a name of 81 characters is refused and none of the 100 is inserted"],
    "lenient": ["POST saldo as a string is refused with 400"],
    "local-time": ["reads creato 2024-03-10 02:30:00 (an hour that does not exist in New York)"],
    "short-floats": ["reads saldo 9999999999.99"],
    "many-connections": ["no more connections to the database than the declared pool"],
    "close": ["the connection is kept alive"],
    "elsewhere": ["its answers are made by its own processes"],
    "squatted": ["it starts, and the listener is its own"],
}
JWT = {
    "honest": [],
    "alg-none": ["a token with alg none is refused with 401", "a signed token with alg none is refused with 401"],
    "no-exp": ["a token without exp is refused with 401", "a token whose exp is past is refused with 401"],
    "open-ping": ["GET /ping without a token is refused with 401", "a token of two parts is refused with 401"],
}

lines = 0
failures = 0


def result(good, name, *details):
    global lines, failures
    lines += 1
    failures += not good
    print(f"{'ok' if good else 'not ok'} {lines} - {name}", flush=True)
    for detail in () if good else details:
        for line in str(detail).splitlines():
            print(f"  # {line}", flush=True)


def run(*arguments, **variables):
    done = subprocess.run([RESTBENCH, *arguments], cwd=ROOT, env={**os.environ, **variables}, timeout=SECONDS,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    return done.returncode, done.stdout, done.stderr


def make_folder(servers, modes):
    folder = os.path.join(servers, "cheat")
    os.makedirs(folder)
    for name in ("server.py", "pgwire.py"):
        shutil.copy(os.path.join(SERVERS, "minimal", name), folder)
    shutil.copy(os.path.join(SERVERS, "cheats", "cheat.py"), folder)
    with open(os.path.join(SERVERS, "cheats", "server.json"), encoding="utf-8") as file:
        recipe = json.load(file)
    recipe["variants"] = [{"name": mode, "title": f"Cheat {mode}", "env": {"CHEAT": mode}} for mode in modes]
    with open(os.path.join(folder, "server.json"), "w", encoding="utf-8") as file:
        json.dump(recipe, file)


def start_upstream(url):
    """An honest server that nobody measures; it says its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # Named as one of ours, so that its connections are not counted as those of the server under test.
    url += "?application_name=restbench-upstream"
    env = {**os.environ, "DATABASE_URL": url, "PORT": str(port), "DB_POOL": "4", "PYTHONDONTWRITEBYTECODE": "1"}
    env.pop("JWT_SECRET", None)
    minimal = os.path.join(SERVERS, "minimal")
    return subprocess.Popen([sys.executable, "server.py"], cwd=minimal, env=env), str(port)


def squat(fifo):
    """Listens on every port that is written into the fifo, until the end."""
    kept = []
    while True:
        with open(fifo, encoding="ascii") as file:
            for line in file:
                try:
                    kept.append(socket.create_server(("127.0.0.1", int(line))))
                except OSError as error:
                    print(f"# squatter: {error}", flush=True)


def check(security, expected, common, variables):
    expected = {mode: cases for mode, cases in expected.items() if mode in (sys.argv[1:] or expected)}
    if not expected:
        return
    pattern = "cheat:(" + "|".join(expected) + ")"
    status, out, err = run("check", pattern, "--security", security, *common, **variables)
    refused = {mode: [] for mode in expected}
    for mode, name in re.findall(r"^not ok \d+ - cheat:([a-z-]+): (.*)$", out, re.M):
        refused[mode].append(name)
    wanted = int(any(expected.values()))
    result(status == wanted, f"{security}: exit status {wanted}", f"got {status}", err, out[-2000:])
    for mode, cases in expected.items():
        passed = len(re.findall(rf"^ok \d+ - cheat:{mode}: ", out, re.M))
        if cases:
            missing = [case for case in cases if case not in refused[mode]]
            result(not missing, f"{security}: {mode} is refused by name", f"not refused for: {missing}",
                   f"but for: {refused[mode]}", err)
        else:
            result(not refused[mode] and passed > 70, f"{security}: {mode} passes", f"{passed} passed",
                   *[line for line in out.splitlines() if f"cheat:{mode}:" in line and line.startswith("not")], err)
        if mode != "squatted":
            result(f"cheat:{mode}: the table is as it was found" not in refused[mode] and passed > 0,
                   f"{security}: after {mode} the table is as it was", out[-2000:])


def main():
    scratch = tempfile.mkdtemp(prefix="restbench-cheats-")
    os.chmod(scratch, 0o755)
    state, servers, fifo = (os.path.join(scratch, name) for name in ("state", "servers", "fifo"))
    common = ["--servers-dir", servers, "--state", state]
    upstream = None
    make_folder(servers, sorted({*NONE, *JWT}))
    os.mkfifo(fifo, 0o666)
    threading.Thread(target=squat, args=(fifo,), daemon=True).start()
    try:
        status, _, err = run("db", "start", "--state", state)
        result(status == 0, "the database starts", err)
        _, url, _ = run("db", "url", "--state", state)
        upstream, port = start_upstream(url.strip())
        variables = {"UPSTREAM": port, "SQUATTER": fifo}
        check("none", NONE, common, variables)
        check("jwt", JWT, common, variables)
    finally:
        if upstream is not None:
            upstream.send_signal(signal.SIGTERM)
            upstream.wait(30)
        run("db", "stop", "--state", state)
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"1..{lines}")
    return failures > 0


sys.exit(main())
