#!/usr/bin/env python3
"""TAP: `restbench load` where the kernel refuses: io_uring, addresses of a name. The refusals are real: seccomp, a mount."""

import ctypes
import os
import socket
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from load_server import Serving, check, faults, load, schema_errors  # noqa: E402
from tap import RESTBENCH, Tap  # noqa: E402

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER = 38, 22, 2
IO_URING_SETUP, IO_URING_REGISTER = 425, 427  # the same on every architecture
EPERM, ENOMEM = 1, 12
t = Tap()
libc = ctypes.CDLL(None, use_errno=True)


def refuse(number, error, argument=None):
    """For preexec_fn: this system call, where its second argument is that one, fails with the error."""
    code = [(0x20, 0, 0, 0)]  # load the number
    if argument is None:
        code += [(0x15, 0, 1, number)]
    else:
        code += [(0x15, 0, 3, number), (0x20, 0, 0, 24), (0x15, 0, 1, argument)]
    code += [(0x06, 0, 0, 0x00050000 | error), (0x06, 0, 0, 0x7FFF0000)]
    raw = b"".join(struct.pack("HBBI", *line) for line in code)
    buffer = ctypes.create_string_buffer(raw)
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code), ctypes.addressof(buffer)))

    def install():
        if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, FILTER, ctypes.byref(program), 0, 0):
            os._exit(97)

    install.keep = buffer, program
    return install


def run(before, *args):
    done = subprocess.run([RESTBENCH, "load", "-o", "json", "-p", "r", *args], capture_output=True, text=True, timeout=60, preexec_fn=before)
    try:
        return done, check.parse(done.stdout)
    except ValueError:
        return done, None


for name, before, reason in (
    ("EPERM by seccomp", refuse(IO_URING_SETUP, EPERM), "io_uring: Operation not permitted"),
    ("no buffer ring", refuse(IO_URING_REGISTER, ENOMEM, 22), "io_uring buffer ring: Cannot allocate memory"),
    ("no table of sockets", refuse(IO_URING_REGISTER, EPERM, 13), "sockets: Operation not permitted"),
):
    with Serving() as s:
        got, data = run(before, "--engine", "io_uring", "-c", "4", "--threads", "2", "-n", "8", s.url)
        t.is_((got.returncode, got.stdout, got.stderr.count("\n")), (2, "", 1), f"{name}: --engine io_uring: exit 2, one line", got.stderr)
        t.has(got.stderr, reason, f"{name}: says why")
        got, data = run(before, "--engine", "epoll", "-c", "4", "-n", "8", s.url)
        t.is_((got.returncode, data["restbench"]["ok"]), (0, 8), f"{name}: epoll does not care", got.stderr)
        got, data = run(before, "-c", "4", "-n", "8", s.url)
        t.is_((got.returncode, data["restbench"]["engine"]), (0, "epoll"), f"{name}: auto", got.stderr)
        t.has(data["restbench"]["engine_reason"], reason, f"{name}: auto says why")
    t.is_(s.report["seen"], 16, f"{name}: nothing was sent on half an engine")

key, cert = t.path("key"), t.path("cert")
subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", cert,
                "-subj", "/CN=localhost", "-days", "2"], check=True, capture_output=True)
listener = socket.create_server(("127.0.0.1", 0))
port = listener.getsockname()[1]
listener.close()
server = subprocess.Popen(["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-key", key, "-cert", cert, "-www", "-quiet"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
try:
    url = f"https://127.0.0.1:{port}/"
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            libc.usleep(50000)
    got, data = run(None, "-c", "1", "--close", "-k", "-t", "20s", "-n", "2", url)
    t.is_((data or {}).get("restbench", {}).get("engine"), "io_uring", "auto: io_uring where TLS is opened for each request", got.stderr)
    got, data = run(refuse(IO_URING_SETUP, EPERM), "-c", "1", "--close", "-k", "-t", "20s", "-n", "2", url)
    t.is_((data or {}).get("restbench", {}).get("engine"), "epoll", "auto: epoll where that is refused", got.stderr)
    t.has((data or {}).get("restbench", {}).get("engine_reason", ""), "Operation not permitted", "and says why")
finally:
    server.kill()
    server.wait()

with Serving() as s:
    got, data = run(None, "-c", "2", "-n", "4", s.url)
    t.is_((data or {}).get("restbench", {}).get("engine"), "io_uring", "auto: io_uring where connections are kept", got.stderr)
    got, data = run(None, "-c", "2", "-n", "4", "--close", s.url)
    t.is_((data or {}).get("restbench", {}).get("engine"), "epoll", "auto: epoll where a socket is dialled again", got.stderr)

# A name with two addresses, of which one answers: each is tried once, before the clock.
hosts = t.path("hosts")
with open(hosts, "w", encoding="ascii") as file:
    file.write("::1 twofold\n127.0.0.1 twofold\n")
can = subprocess.run(["unshare", "-m", "mount", "--bind", hosts, "/etc/hosts"], capture_output=True, check=False).returncode == 0


def twofold(*args):
    command = 'mount --bind "$0" /etc/hosts && exec "$@"'
    done = subprocess.run(["unshare", "-m", "sh", "-c", command, hosts, RESTBENCH, "load", "-o", "json", "-p", "r", *args],
                          capture_output=True, text=True, timeout=60)
    try:
        return done, check.parse(done.stdout)
    except ValueError:
        return done, None


if can:
    with Serving() as s:
        got, data = twofold("-c", "10", "-n", "50", f"http://twofold:{s.port}/")
        address = f"127.0.0.1:{s.port}"
        t.is_((got.returncode, (data or {}).get("restbench", {}).get("address")), (0, address), "two addresses: the one that answers", got.stderr)
        t.ok(data and not faults(data) and not schema_errors(data), "and the identities hold")
    got, data = twofold("-c", "1", "-n", "1", f"http://twofold:{s.port}/")
    t.is_((got.returncode, got.stderr.count("\n")), (2, 1), "two addresses, nobody listens: exit 2, one line", got.stderr)
    t.ok("[::1]:" in got.stderr and "127.0.0.1:" in got.stderr, "and names both", got.stderr)
else:
    t.ok(True, "two addresses # SKIP no mount namespaces here")

# An announced end that does not come: the port is ours to keep, and it is said.
for engine in ("epoll", "io_uring"):
    head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
    with Serving({"steps": [["send", head], ["hold"]]}) as s:
        got, data = load(t, "--engine", engine, "-c", "1", "-n", "20", s.url)
    t.is_((data["restbench"]["ok"], data["restbench"]["ended_first"]), (20, 20), f"{engine}: connections ended first are counted", data)
t.done()
