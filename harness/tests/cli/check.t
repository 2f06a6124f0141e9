#!/usr/bin/env python3
"""TAP: `restbench check` against a server that runs already (--url) and against rows; what is not a server's fault."""

import json
import os
import socket
import subprocess
import sys
import time

from tap import Tap

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
MINIMAL = os.path.join(ROOT, "harness", "tests", "servers", "minimal")


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Minimal:
    """The honest server in Python, started by hand; `more` is added to its environment."""

    def __init__(self, url, **more):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        env = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", "DATABASE_URL": url, "PORT": str(self.port)}
        self.process = subprocess.Popen([sys.executable, "server.py"], cwd=MINIMAL, env={**env, **more})

    def __enter__(self):
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return self
            except OSError:
                self.process.poll()
                if self.process.returncode is not None:
                    raise
                time.sleep(0.05)
        raise TimeoutError("the server does not listen")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)


def check_mistakes(t):
    port = free_port()
    for args, part in (
        (["nosuch"], 'no row matches "nosuch"'),
        (["["], "offset 1"),
        (["--security", "basic"], '"none" and "jwt"'),
        (["--url", "http://127.0.0.1:1", "go-nethttp"], "not both"),
        (["--url", "127.0.0.1:80"], "not a URL"),
        (["--url", f"http://localhost:{port}"], "nobody answers at"),
        (["--url", f"http://localhost:{port}"], "127.0.0.1"),
        (["--url", f"http://127.0.0.1:{port}", "--security", "jwt"], "JWT_SECRET"),
        (["--contract", "/nonexistent.json"], "/nonexistent.json"),
    ):
        got = t.run("check", *args, "--state", t.path("none"), cwd=ROOT, env={"JWT_SECRET": ""})
        t.is_(got.status, 2, f"check {' '.join(args)}: exit status 2".replace(str(port), "PORT"), got.err)
        t.has(got.err, part, "and says why")
        t.is_((got.out, got.err.count("\n")), ("", 1), "in one line, before any TAP")


def check_url(t, state, url):
    # Nothing of the caller's surroundings may matter: proxies, libpq's variables, its time zone, its locale.
    hostile = {"http_proxy": "http://127.0.0.1:1", "ALL_PROXY": "http://127.0.0.1:1", "PGHOST": "/nonexistent",
               "PGTZ": "Asia/Kathmandu", "PGDATESTYLE": "German", "PGOPTIONS": "-c timezone=Asia/Kathmandu",
               "HOME": "/nonexistent"}
    with Minimal(url) as server:
        for zone in ("America/New_York", "Europe/Rome", "Asia/Kathmandu"):
            got = t.run("check", "--url", server.url, "--database", url, "--state", state, cwd=ROOT,
                        env={**hostile, "TZ": zone, "LC_ALL": "de_DE.UTF-8"})
            t.is_(got.status, 0, f"an honest server passes, TZ={zone}", got.err + got.out)
            t.has(got.out, "ok 1 - GET /ping", "in TAP")
            t.hasnt(got.out, "SKIP", "and nothing was skipped")
        got = t.run("check", "--url", server.url, "--state", state, cwd=ROOT)
        t.is_(got.status, 0, "without --database it passes", got.err + got.out)
        t.has(got.out, "GET /clienti/42 equals the table # SKIP no database", "and says what was not tried")
        got = t.run("check", "--url", server.url, "--security", "jwt", "--state", state, cwd=ROOT,
                    env={"JWT_SECRET": "a secret that this server was not given"})
        t.is_(got.status, 1, "a server that asks for no token is refused in JWT mode", got.err)
        t.has(got.out, "not ok", "by name")
    with Minimal(url, JWT_SECRET="a secret of at least 32 characters") as server:
        got = t.run("check", "--url", server.url, "--security", "jwt", "--database", url, "--state", state, cwd=ROOT,
                    env={"JWT_SECRET": "a secret of at least 32 characters"})
        t.is_(got.status, 0, "an honest server passes in JWT mode", got.err + got.out)


def check_killed(t, state, url):
    """Killed in the middle, it leaves rows behind; the next check puts the table right before it begins."""
    rows = "SELECT count(*) FILTER (WHERE id > 100000) || ' ' || count(*) FILTER (WHERE citta LIKE 'Killed%') FROM clienti"
    contract = t.path("contract.json")
    with open(contract, "w", encoding="utf-8") as file:
        json.dump({"format": 1, "cases": [{"name": "hangs", "steps": [
            {"execute": "UPDATE clienti SET citta = 'Killed here' WHERE id = 42"}, {"execute": "SELECT pg_sleep(60)"}]}]},
            file)
    with Minimal(url) as server:
        try:
            subprocess.run([os.environ.get("RESTBENCH", os.path.join(ROOT, "restbench")), "check", "--url", server.url,
                            "--database", url, "--contract", contract, "--state", state],
                           cwd=ROOT, timeout=8, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            pass
        query = lambda: subprocess.run(["psql", "-XAtq", url, "-c", rows], capture_output=True, text=True).stdout.strip()
        t.is_(query(), "0 1", "a check that was killed left a row changed")
        got = t.run("check", "--url", server.url, "--database", url, "--state", state, cwd=ROOT)
        t.is_(got.status, 0, "the next one passes", got.err + got.out)
        t.is_(query(), "0 0", "and the table is right again")


def check_rows(t, state):
    got = t.run("check", "external|dext.*", "--state", state, cwd=ROOT)
    t.is_(got.status, 1, "rows that all lack something are no success", got.out + got.err)
    t.has(got.out, "# SKIP", "each says what it lacks")
    t.has(got.err, "no server was checked", "and so does the last line")


def main():
    t = Tap()
    state = t.path("state")
    os.chmod(t.folder, 0o755)
    check_mistakes(t)
    try:
        got = t.run("db", "start", "--state", state, cwd=ROOT)
        t.is_(got.status, 0, "the database starts", got.err)
        url = t.run("db", "url", "--state", state, cwd=ROOT).out.strip()
        check_url(t, state, url)
        check_killed(t, state, url)
        check_rows(t, state)
    finally:
        t.run("db", "stop", "--state", state, cwd=ROOT)
    t.done()


main()
