#!/usr/bin/env python3
"""TAP: what servers/c-reference does with bytes that no well-behaved client sends, and when PostgreSQL goes away. What
it has in common with the other servers is in config/contract.json."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

from tap import Tap

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
LIMIT = 60

ROWS = [  # name, city, email, balance as it is written, created; what the table has for the balance
    ("x" * 80, "Città", None, "-0.01", "0001-01-01T00:00:00", "-0.01"),
    ("\U0001f600" * 80, "a", "e@x", "9999999999.99", "2024-03-10T02:30:00", "9999999999.99"),
    ('"\\/\b\f\n\r\t\x01', "b", "", "0.10", "1960-06-02T00:00:00.5", "0.10"),
    ("n", "c", None, "1.5e3", "2024-02-29T23:59:59.999999", "1500.00"),
    ("n", "c", None, "12345678.905", "2000-02-29T00:00:00.000001", "12345678.91"),
    ("n", "c", None, "100e-2", "1900-03-01T00:00:00", "1.00"),
    ("n", "c", None, "-0.005", "1999-12-31T23:59:59", "-0.01"),
    ("n", "c", None, "0", "9999-12-31T23:59:59", "0.00"),
    ("n", "c", None, "1e-30", "2000-01-01T00:00:00", "0.00"),
    ("n", "c", None, "10000", "2000-01-01T00:00:00", "10000.00"),
]


def body(escape):
    parts = []
    for name, city, email, balance, created, _ in ROWS:
        texts = {"ragione_sociale": name, "citta": city, "email": email, "creato": created, "more": [1, {"a": [None]}]}
        parts.append(json.dumps(texts, ensure_ascii=escape)[:-1] + f', "saldo" : {balance}}}')
    return ("[" + ",\n".join(parts) + "]").encode()


class Server:
    def __init__(self, program, url, **more):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        env = {"HOST": "127.0.0.1", "PORT": str(self.port), "DATABASE_URL": url, "DB_POOL": "4", **more}
        self.process = subprocess.Popen([program], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                self.connect().close()
                return
            except OSError:
                time.sleep(0.02)
        raise RuntimeError(f"does not listen: {self.process.communicate()[0]}")

    def connect(self):
        c = socket.create_connection(("127.0.0.1", self.port), LIMIT)
        c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return c

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        out, _ = self.process.communicate(timeout=LIMIT)
        return self.process.returncode, out

    def talk(self, data, answers=1, step=0, half_close=False):
        """Sends the bytes (in steps of so many) and reads so many answers; None at its end for a closed connection."""
        with self.connect() as c:
            try:
                for at in range(0, len(data), step or max(len(data), 1)):
                    c.sendall(data[at:at + (step or len(data))])
            except OSError:
                pass  # it may refuse before it has read all
            if half_close:
                c.shutdown(socket.SHUT_WR)
            file, got = c.makefile("rb"), []
            try:
                while len(got) < answers:
                    status = file.readline()
                    if not status:
                        return [*got, None]
                    length, line = 0, file.readline()
                    while line not in (b"\r\n", b""):
                        name, _, value = line.partition(b":")
                        length = int(value) if name.lower() == b"content-length" else length
                        line = file.readline()
                    got.append((int(status.split()[1]), file.read(length).decode()))
            except TimeoutError:
                got.append((0, "no answer in time"))
            return got

    def rest(self, data):
        """Everything until the server closes the connection."""
        with self.connect() as c:
            c.sendall(data)
            c.settimeout(LIMIT)
            return c.makefile("rb").read()


def request(path, method="GET", body=None, version="1.1", **headers):
    head = f"{method} {path} HTTP/{version}\r\nHost: here\r\n"
    head += "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    if body is not None:
        head += f"Content-Length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + (body or b"")


def chunked(data, size):
    chunks = b"".join(b"%x;a=b\r\n%s\r\n" % (len(data[i:i + size]), data[i:i + size]) for i in range(0, len(data), size))
    return (b"POST /clienti/batch HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: Chunked\r\n\r\n" + chunks
            + b"0\r\nTrailer: x\r\n\r\n")


def check_split(t, server):
    inserted = (200, '{"inserted":10}')
    for step in (1, 7, 0):
        for name, data in (("a body", request("/clienti/batch", "POST", body(True))), ("a chunked body", chunked(body(False), 50))):
            got = server.talk(data + request("/ping"), 2, step)
            t.is_(got, [inserted, (200, '{"ok":true}')], f"{name} in steps of {step or 'all'} bytes, and a request behind it")
    # A server that has the body already need not say that it may come.
    for step in (1, 0):
        got = server.talk(request("/clienti/batch", "POST", body(True), Expect="100-continue", Connection="close"), 2, step)
        t.is_([one[0] for one in got if one and one[0] != 100], [200], f"Expect: 100-continue, in steps of {step or 'all'}")
    with server.connect() as c:
        c.sendall(request("/clienti/batch", "POST", b"[]", Expect="100-continue")[:-2])
        t.is_(c.recv(1000), b"HTTP/1.1 100 Continue\r\n\r\n", "the interim answer comes before the body")
    got = server.talk(request("/ping") * 200 + request("/clienti/7") * 200 + request("/nope"), 401, 997)
    t.is_([status for status, _ in got], [200] * 400 + [404], "401 pipelined requests are answered in order")
    got = server.talk(request("/clienti?pagina=1") * 2000, 2000)
    t.is_(sum(status == 200 for status, _ in got), 2000, "2000 pipelined pages to a client that reads when it has written")
    t.is_(server.talk(request("/clienti/1"), 2, half_close=True)[1], None, "a client that has closed its half is answered")
    large = b"[" + b",".join([body(True)[1:-1]] * 2000) + b"]"
    t.is_(server.talk(request("/clienti/batch", "POST", large)), [(200, '{"inserted":20000}')], "20,000 rows at once")


def check_heads(t, server):
    for data, status, name in (
        (b"GET\r\n\r\n", 400, "no target"),
        (b"GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505, "another version"),
        (b"GET /ping HTTP/1.1\r\n\r\n", 400, "no Host"),
        (b"GET /ping HTTP/1.1\r\nHost : x\r\n\r\n", 400, "a blank before the colon"),
        (b"GET /ping HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n", 400, "a folded line"),
        (b"GET /ping HTTP/1.1\nHost: x\n\r\n\r\n", 400, "bare line feeds"),
        (b"GET /ping HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400, "a negative length"),
        (b"GET /ping HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, "two lengths"),
        (b"GET /ping HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400, "length and chunked"),
        (b"POST /clienti/batch HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 501, "an unknown coding"),
        (b"POST /clienti/batch HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400, "a chunk of no size"),
        (b"POST /clienti/batch HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n", 413, "a huge length"),
        (b"GET /ping HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\n\r\n", 417, "another expectation"),
        (b"x" * 20000, 431, "a head without end"),
    ):
        got = server.talk(data + b"GET /ping HTTP/1.1\r\nHost: x\r\n\r\n", 2)
        t.is_((got[0] and got[0][0], got[-1]), (status, None), f"{name} is refused with {status}, and the connection closed")
    t.is_(server.talk(b"\r\n\r\n" + request("/ping"))[0][0], 200, "empty lines before a request")
    t.is_(server.talk(request("http://here/ping"))[0][0], 200, "an absolute target")
    t.is_(server.talk(request("/clienti/%34%32"))[0][0], 200, "a percent-encoded id")
    t.is_([s for s, _ in server.talk(request("/ping", "PUT") + request("/clienti/batch", "DELETE"), 2)], [405, 405], "other methods")
    got = server.rest(request("/ping", version="1.0"))
    t.ok(b"200 OK" in got and b"Connection: close" in got, "HTTP/1.0 is answered and closed", got)
    got = server.talk(request("/ping", version="1.0", Connection="keep-alive") * 2, 2)
    t.is_([status for status, _ in got], [200, 200], "HTTP/1.0 with keep-alive is kept")
    got = server.rest(request("/clienti/1", Connection="x , CLOSE") + request("/ping"))
    t.is_(got.count(b"HTTP/1.1 200 OK"), 1, "close in a list of options: one answer, then the end")
    got = server.rest(request("/ping", "HEAD") + request("/clienti/42", "HEAD") + request("/ping", Connection="close"))
    t.is_((got.count(b"200 OK"), got.count(b'{"')), (3, 1), "HEAD has no body")


def check_values(t, server, sql):
    sql("DELETE FROM clienti WHERE id > 100000")
    t.is_(server.talk(request("/clienti/batch", "POST", body(True)))[0][0], 200, "the rows are inserted")
    found = sql("SELECT saldo FROM clienti WHERE id > 100000 ORDER BY id").split()
    t.is_(found, [row[-1] for row in ROWS], "balances are what PostgreSQL makes of their digits")
    first = int(sql("SELECT min(id) FROM clienti WHERE id > 100000"))
    for at, (name, city, email, _, created, balance) in enumerate(ROWS):
        status, text = server.talk(request(f"/clienti/{first + at}"))[0]
        text = re.sub(r'"saldo":(-?[0-9.]+)', r'"saldo":"\1"', text)
        t.is_((status, json.loads(text)), (200, {"id": first + at, "ragione_sociale": name, "citta": city, "email": email,
              "saldo": balance, "creato": created + ("00000" if created.endswith(".5") else "")}), f"row {at} is read back")
    for bad in (b'[{"ragione_sociale":"\xff"}]', b'[{"ragione_sociale":"\\ud800"}]', b'[{"x":01}]', b'[{"x":+1}]',
                b"[" * 100000, b'[{"x":"\n"}]', b"[{}]", b"\xef\xbb\xbf[]", b"[],", b'[{"saldo":1e999}]'):
        t.is_(server.talk(request("/clienti/batch", "POST", bad))[0][0], 400, f"{bad[:40]} is refused")
    t.is_(server.talk(request("/clienti/batch", "POST", b"[]")), [(200, '{"inserted":0}')], "no rows are no mistake")


def check_lost(t, server, sql):
    mine = "application_name = 'c-reference' AND pid <> pg_backend_pid()"
    t.is_(sql(f"SELECT count(*) FROM pg_stat_activity WHERE {mine}"), "4", "it has the connections that it was given")
    sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {mine}")
    t.ok(server.talk(request("/clienti/1"))[0][0] in (200, 503), "requests are answered when PostgreSQL is lost")
    t.is_(server.talk(request("/ping"))[0][0], 200, "ping does not need it")
    deadline = time.monotonic() + LIMIT
    while server.talk(request("/clienti/1"))[0][0] != 200 and time.monotonic() < deadline:
        time.sleep(0.1)
    t.is_(server.talk(request("/clienti/1"))[0][0], 200, "it dials again")


def check_end(t, program, url, server, sql):
    slow = server.connect()
    locker = subprocess.Popen(["psql", "-XAtq", url, "-c", "BEGIN; LOCK TABLE clienti; SELECT 1; SELECT pg_sleep(1)"],
                              stdout=subprocess.PIPE)
    deadline = time.monotonic() + LIMIT
    while sql("SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted AND relation = 'clienti'::regclass") == "0" \
            and time.monotonic() < deadline:
        time.sleep(0.02)
    slow.sendall(request("/clienti/1"))
    time.sleep(0.2)
    status, out = server.stop()
    answer = slow.recv(65536)
    locker.wait(LIMIT)
    slow.close()
    t.ok(b"200 OK" in answer and b"Connection: close" in answer, "an answer that was being made at SIGTERM is sent", answer)
    t.is_(status, 0, "SIGTERM ends it with status 0")
    t.is_(out, b"", "it wrote no line")
    for more, part in (({"DATABASE_URL": ""}, b"DATABASE_URL"), ({"PORT": ""}, b"PORT"), ({"DB_POOL": "x"}, b"DB_POOL"),
                       ({"DATABASE_URL": "postgresql://127.0.0.1:1/x"}, b"no connection to the database")):
        env = {"PORT": "1", "DATABASE_URL": url, **more}
        done = subprocess.run([program], env=env, capture_output=True, timeout=LIMIT)
        t.ok(done.returncode == 1 and part in done.stderr, f"without a right {list(more)[0]} it says so", done.stderr)


def main():
    t = Tap()
    state, folder = t.path("state"), t.path("c-reference")
    os.chmod(t.folder, 0o755)
    shutil.copytree(os.path.join(ROOT, "servers", "c-reference"), folder, ignore=shutil.ignore_patterns("c-reference"))
    program, server = os.path.join(folder, "c-reference"), None
    done = subprocess.run(["make", "-C", folder], capture_output=True, text=True)
    t.is_(done.returncode, 0, "it builds", done.stderr)
    try:
        t.run("db", "start", "--state", state, cwd=ROOT)
        t.is_(t.run("db", "seed", "--state", state, cwd=ROOT).status, 0, "the table is there")
        url = t.run("db", "url", "--state", state, cwd=ROOT).out.strip()

        def sql(statement):
            done = subprocess.run(["psql", "-XAtq", url, "-c", statement], capture_output=True, text=True, timeout=LIMIT)
            return done.stdout.strip() if done.returncode == 0 else done.stderr

        server = Server(program, url)
        check_split(t, server)
        check_heads(t, server)
        check_values(t, server, sql)
        check_lost(t, server, sql)
        check_end(t, program, url, server, sql)
    finally:
        if server is not None and server.process.poll() is None:
            server.process.kill()
        t.run("db", "stop", "--state", state, cwd=ROOT)
    t.done()


sys.exit(main())
