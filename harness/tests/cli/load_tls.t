#!/usr/bin/env python3
"""TAP: `restbench load` and https: certificates, both engines, reconnecting, bodies larger than buffers."""

import os
import socket
import ssl
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from load_server import faults, load  # noqa: E402
from tap import Tap  # noqa: E402

ENGINES = ("epoll", "io_uring")
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n" + b"x" * 40000
t = Tap()


def certificate(name, *more):
    key, cert = t.path(name + ".key"), t.path(name + ".pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", cert,
         "-subj", "/CN=" + name, *more],
        check=True, capture_output=True,
    )
    return cert, key


class Server:
    """TLS, one thread a connection; `end` says how an answer ends: keep, close (in order), cut (no close_notify)."""

    def __init__(self, files, end="keep", answer=ANSWER, version=None):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if version:
            self.context.maximum_version = version
        self.context.load_cert_chain(*files)
        self.end, self.answer = end, answer
        self.seen = self.resumed = self.connections = self.body_bytes = 0
        self.lock = threading.Lock()

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def accept(self):
        while True:
            try:
                raw = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.serve, args=(raw,), daemon=True).start()

    def serve(self, raw):
        try:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.context.wrap_socket(raw, server_side=True) as c:
                with self.lock:
                    self.connections += 1
                    self.resumed += c.session_reused
                self.requests(c)
        except OSError:
            raw.close()

    def requests(self, c):
        data = b""
        while True:
            while b"\r\n\r\n" not in data:
                piece = c.recv(65536)
                if not piece:
                    return
                data += piece
            head, _, data = data.partition(b"\r\n\r\n")
            need = sum(int(l.split(b":")[1]) for l in head.split(b"\r\n") if l.lower().startswith(b"content-length:"))
            got = len(data)
            while got < need:
                piece = c.recv(262144)
                if not piece:
                    return
                got += len(piece)
            data = b""
            with self.lock:
                self.seen += 1
                self.body_bytes += need
            c.sendall(self.answer)
            if self.end == "close":
                c.unwrap()
            if self.end != "keep":
                return


good = certificate("localhost", "-days", "2", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")
other = certificate("other.example", "-days", "2", "-addext", "subjectAltName=DNS:other.example")
expired = certificate("late", "-days", "2", "-addext", "subjectAltName=IP:127.0.0.1")
subprocess.run(["openssl", "x509", "-in", expired[0], "-signkey", expired[1], "-days", "-1", "-out", expired[0] + ".old"],
               capture_output=True, check=False)
old = (expired[0] + ".old", expired[1])


def refused(name, wanted, files, *args):
    for engine in ENGINES:
        with Server(files) as s:
            got = t.run("load", "--engine", engine, "-c", "2", "-n", "2", *args, f"https://127.0.0.1:{s.port}/")
        t.is_((got.status, got.out.count("\n"), got.err.count("\n")), (2, 0, 1), f"{engine}: {name}: exit 2, one line", got.out + got.err)
        t.has(got.err, wanted, f"{engine}: {name}: says why")
        t.is_(s.seen, 0, f"{engine}: {name}: no request was sent")


refused("self-signed", "the certificate is not accepted: self-signed certificate", good)
refused("another name", "the certificate is not accepted: IP address mismatch", other, "--cacert", other[0])
if os.path.exists(old[0]) and os.path.getsize(old[0]):
    refused("expired", "the certificate is not accepted: certificate has expired", old, "--cacert", old[0])
refused("a file that holds none", "--cacert /dev/null: no certificates could be read", good, "--cacert", "/dev/null")

for engine in ENGINES:
    def run(server, *args, host="127.0.0.1"):
        got, data = load(t, "--engine", engine, "-t", "20s", *args, f"https://{host}:{server.port}/")
        t.ok(data and not faults(data), f"{engine}: identities", got.err or faults(data))
        return got, data["restbench"]

    with Server(good) as s:
        got, ours = run(s, "-c", "4", "-n", "200", "--cacert", good[0], host="localhost")
    t.is_((got.status, ours["ok"], s.seen, ours["reconnects"]), (0, 200, 200, 0), f"{engine}: --cacert, by name", ours["errors"])
    t.is_(s.connections, 4, f"{engine}: connections are kept")
    with Server(good, version=ssl.TLSVersion.TLSv1_2) as s:
        got, ours = run(s, "-c", "2", "-n", "20", "--cacert", good[0])
    t.is_((got.status, ours["ok"]), (0, 20), f"{engine}: TLS 1.2, by address", ours["errors"])
    with Server(other) as s:
        got, ours = run(s, "-c", "2", "-n", "20", "-k")
    t.is_((got.status, ours["ok"]), (0, 20), f"{engine}: -k takes any certificate", ours["errors"])
    with Server(good, end="close") as s:
        got, ours = run(s, "-c", "2", "-n", "60", "-k", "--close")
    t.is_((got.status, ours["ok"], s.seen), (0, 60, 60), f"{engine}: --close", ours["errors"])
    t.ok(s.resumed >= 40, f"{engine}: sessions are taken up again", f"{s.resumed} of {s.connections}")
    body = t.path("body")
    with open(body, "wb") as file:
        file.write(os.urandom(1500000))
    with Server(good) as s:
        got, ours = run(s, "-c", "2", "-n", "6", "-k", "-m", "POST", "-f", body)
    t.is_((ours["ok"], s.body_bytes), (6, 9000000), f"{engine}: bodies larger than buffers", ours["errors"])
    until_end = b"HTTP/1.1 200 OK\r\n\r\nbody"
    with Server(good, end="close", answer=until_end) as s:
        got, ours = run(s, "-c", "2", "-n", "10", "-k")
    t.is_(ours["ok"], 10, f"{engine}: a body until the end, ended in order", ours["errors"])
    with Server(good, end="cut", answer=until_end) as s:
        got, ours = run(s, "-c", "2", "-n", "10", "-k")
    t.is_(ours["errors"]["truncated"], 10, f"{engine}: a body until the end, cut: no close_notify", ours)
    with Server(good, answer=b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok extra") as s:
        got, ours = run(s, "-c", "2", "-n", "10", "-k")
    t.is_(ours["errors"]["malformed"], 10, f"{engine}: bytes behind an answer", ours["errors"])
    plain = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=lambda p=plain: p.accept()[0].sendall(b"HTTP/1.1 400 Bad\r\n\r\n"), daemon=True).start()
    got = t.run("load", "--engine", engine, "-c", "1", "-n", "1", f"https://127.0.0.1:{plain.getsockname()[1]}/")
    t.is_((got.status, got.err.count("\n")), (2, 1), f"{engine}: a server that speaks no TLS: one line", got.err)
    t.has(got.err, "TLS: wrong version number", f"{engine}: says why")
    plain.close()
t.done()
