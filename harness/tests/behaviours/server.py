"""A server that misbehaves exactly as told: raw sockets, one thread a connection, a script of steps a request.

    python3 server.py BEHAVIOUR.json     prints "port N", serves until its standard input ends, prints one JSON report
    server = Server(plan); server.start(); ...; report = server.finish()          the same from Python

The file (or the "server" object in it) is the plan:
    steps            what is done once a request's head has arrived: [["send", "..."], ["pause", 20], ["rst"]]
    on               exceptions, the first that fits wins: {"total": 3 | {"every": 3} | {"from": 5} | {"below": 5},
                     "request": the same (count on its connection), "connection": the same, "steps": [...]}
    accept           steps done on a new connection before anything is read
    address          to listen on (127.0.0.1)
    refuse           true: the port is bound, nobody listens
    deaf             true: connections stay in the listener's queue until the end
    listen_for       connections to accept before the listener is closed (later ones are refused)
    receive_buffer, send_buffer        sizes of the kernel's buffers in bytes
    tls              [certificate file, key file]: TLS, each piece a record of its own, ended by close_notify

Text is sent as Latin-1, so that "\\u00ff" is the byte 255. The request's body is read and dropped after the steps
unless a step did it earlier; what the steps leave open takes the next request.
"""

import json
import os
import select
import socket
import ssl
import struct
import sys
import threading
import time

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
LONGEST_S = 60  # the process ends by then whatever happens
HOLD_S = 30
KEEP_HEADS = 64


class Ended(Exception):
    """The connection is closed or gone."""


class Counts:
    def __init__(self):
        self.lock = threading.Lock()
        self.seen = 0
        self.connections = 0
        self.body_bytes = 0
        self.early = 0  # bytes of a next request before the answer to the last was begun
        self.left_first = 0  # the peer ended its side before it had any answer
        self.heads = []
        self.times = []

    def report(self):
        gaps = sorted(b - a for a, b in zip(self.times, self.times[1:]))
        at = lambda p: round(gaps[int(p * (len(gaps) - 1))] / 1e6, 3) if gaps else None
        return {
            "seen": self.seen,
            "connections": self.connections,
            "body_bytes": self.body_bytes,
            "early": self.early,
            "left_first": self.left_first,
            "heads": [h.decode("latin-1") for h in self.heads],
            "gap_ms": {"p1": at(0.01), "p10": at(0.1), "p50": at(0.5), "p90": at(0.9), "max": at(1)},
        }


def fits(rule, numbers):
    for name, number in numbers.items():
        want = rule.get(name)
        if want is None:
            continue
        if isinstance(want, int):
            want = {"from": want, "below": want + 1}
        if number < want.get("from", 0) or number >= want.get("below", 1 << 62) or number % want.get("every", 1):
            return False
    return True


class Connection:
    def __init__(self, sock, plan, counts, number, stop_listening):
        self.sock, self.plan, self.counts, self.number = sock, plan, counts, number
        self.stop_listening = stop_listening
        self.tls = None
        self.buffer = b""
        self.request = 0
        self.total = 0
        self.body_left = 0
        self.answered = False

    def receive(self):
        data = self.sock.recv(1 << 18)
        if not data:
            raise Ended
        return data

    def read_head(self):
        while b"\r\n\r\n" not in self.buffer:
            self.buffer += self.receive()
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        lines = head.split(b"\r\n")
        lengths = [int(l.split(b":")[1]) for l in lines if l.lower().startswith(b"content-length:")]
        self.body_left = lengths[0] if lengths else 0
        self.request += 1
        self.answered = False
        with self.counts.lock:
            self.counts.seen += 1
            self.total = self.counts.seen
            self.counts.times.append(time.monotonic_ns())
            if len(self.counts.heads) < KEEP_HEADS:
                self.counts.heads.append(head + b"\r\n\r\n")

    def take(self, count):
        taken = 0
        while taken < count:
            if not self.buffer:
                self.buffer = self.receive()
            piece = min(len(self.buffer), count - taken)
            taken += piece
            self.buffer = self.buffer[piece:]
        with self.counts.lock:
            self.counts.body_bytes += taken

    def send(self, data):
        if not self.answered and self.request:
            self.answered = True
            if self.tls is None and self.body_left == 0 and (self.buffer or select.select([self.sock], [], [], 0)[0]):
                self.look_ahead()
        self.sock.sendall(data)

    def look_ahead(self):
        """What the peer did while it waited for this answer: sent more than the request, or ended its side."""
        data = self.buffer or self.sock.recv(4096)
        self.buffer = data
        with self.counts.lock:
            if data:
                self.counts.early += 1
            else:
                self.counts.left_first += 1

    def pieces(self, parts, pause_ms):
        for part in parts:
            self.send(part)
            time.sleep(pause_ms / 1000)

    def drain(self):
        end = time.monotonic() + HOLD_S
        while time.monotonic() < end:
            self.sock.settimeout(max(0.01, end - time.monotonic()))
            if not self.sock.recv(1 << 20):
                break

    def start_tls(self, context):
        self.sock.settimeout(HOLD_S)
        self.tls = context
        self.sock = context.wrap_socket(self.sock, server_side=True, suppress_ragged_eofs=True)
        self.sock.settimeout(None)

    def end_tls(self):
        """Says that no more will come, without waiting for the peer to say so."""
        if self.tls:
            self.sock.setblocking(False)
            try:
                self.sock.unwrap()
            except (ssl.SSLError, OSError):
                pass

    def close(self, reset=False):
        if not reset:
            self.end_tls()
        else:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()
        raise Ended

    def step(self, verb, *args):
        text = lambda i=0: args[i].encode("latin-1")
        if verb == "ok":
            self.send(OK)
        elif verb == "send":
            self.send(text())
        elif verb == "pieces":  # texts, pause
            self.pieces([t.encode("latin-1") for t in args[0]], args[1])
        elif verb == "bytes":  # text, pause: one byte at a time
            self.pieces([text()[i : i + 1] for i in range(len(text()))], args[1])
        elif verb == "split":  # text, pause: in two, at another place with every request
            at = 1 + (self.total - 1) % (len(text()) - 1)
            self.pieces([text()[:at], text()[at:]], args[1])
        elif verb == "repeat":  # text, count: in one go, as far as the buffers take it
            self.send(text() * args[1])
        elif verb == "forever":  # text, pause
            end = time.monotonic() + HOLD_S
            while time.monotonic() < end:
                self.pieces([text()], args[1])
        elif verb == "cycle":  # texts: another one with every request
            self.send(args[0][(self.total - 1) % len(args[0])].encode("latin-1"))
        elif verb == "pause":
            time.sleep(args[0] / 1000)
        elif verb == "pause_cycle":
            time.sleep(args[0][self.total % len(args[0])] / 1000)
        elif verb == "read_body":
            self.take(self.body_left)
            self.body_left = 0
        elif verb == "read":  # bytes of the body
            self.take(min(args[0], self.body_left))
            self.body_left -= min(args[0], self.body_left)
        elif verb == "drain":  # until the peer ends its side
            self.drain()
        elif verb == "hold":  # not a byte read or written until the peer goes
            end = time.monotonic() + HOLD_S
            poll = select.poll()
            poll.register(self.sock, select.POLLRDHUP | select.POLLHUP | select.POLLERR)
            while time.monotonic() < end and not poll.poll(200):
                pass
            self.close()
        elif verb == "fin":
            self.sock.shutdown(socket.SHUT_WR)
        elif verb == "close":
            self.close()
        elif verb == "rst":
            self.close(reset=True)
        elif verb == "stop_listening":
            self.stop_listening()
        else:
            raise SystemExit("no such step: " + verb)

    def steps(self):
        numbers = {"total": self.total, "request": self.request, "connection": self.number}
        for rule in self.plan.get("on", []):
            if fits(rule, numbers):
                return rule["steps"]
        return self.plan.get("steps", [["ok"]])

    def count_rest(self):
        """The peer is gone, but it may have left requests that nobody has read yet."""
        try:
            while True:
                self.take(self.body_left)
                self.read_head()
        except (Ended, OSError):
            pass

    def serve(self, context=None):
        try:
            if context:
                self.start_tls(context)
            for step in self.plan.get("accept", []):
                self.step(*step)
            while True:
                self.read_head()
                for step in self.steps():
                    self.step(*step)
                self.take(self.body_left)
        except OSError:
            self.count_rest()
        except Ended:
            pass
        finally:
            self.sock.close()


class Server:
    def __init__(self, plan):
        self.plan, self.counts, self.threads = plan, Counts(), []
        self.context = None
        if "tls" in plan:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*plan["tls"])
        address = plan.get("address", "127.0.0.1")
        self.listener = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        for option, name in ((socket.SO_RCVBUF, "receive_buffer"), (socket.SO_SNDBUF, "send_buffer")):
            if name in plan:
                self.listener.setsockopt(socket.SOL_SOCKET, option, plan[name])
        self.listener.bind((address, 0))
        self.port = self.listener.getsockname()[1]
        if not plan.get("refuse"):
            self.listener.listen(1024)
        self.listening = not plan.get("refuse")

    def stop_listening(self):
        with self.counts.lock:
            if self.listening:
                self.listening = False
                self.listener.shutdown(socket.SHUT_RDWR)

    def accept(self):
        sock = self.listener.accept()[0]
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self.counts.lock:
            self.counts.connections += 1
            number = self.counts.connections
        connection = Connection(sock, self.plan, self.counts, number, self.stop_listening)
        if number == self.plan.get("listen_for"):
            self.stop_listening()
        thread = threading.Thread(target=connection.serve, args=(self.context,), daemon=True)
        thread.start()
        self.threads.append(thread)

    def run(self, stop):
        """Serves until the descriptor `stop` can be read."""
        end = time.monotonic() + LONGEST_S
        while time.monotonic() < end:
            wait = [stop] + ([self.listener] if self.listening and not self.plan.get("deaf") else [])
            ready = select.select(wait, [], [], 1)[0]
            try:
                if self.listener in ready:
                    self.accept()
                elif ready:
                    break
            except OSError:
                self.listening = False

    def settle(self):
        """The peer is gone: what it left in queues and buffers is still read and counted. Returns the report."""
        while self.listening and select.select([self.listener], [], [], 0)[0]:
            self.accept()
        end = time.monotonic() + 3
        for thread in self.threads:
            thread.join(max(0, end - time.monotonic()))
        self.listener.close()
        with self.counts.lock:
            return self.counts.report()

    def start(self):
        self.stop = os.pipe()
        self.runner = threading.Thread(target=self.run, args=(self.stop[0],), daemon=True)
        self.runner.start()

    def finish(self):
        os.write(self.stop[1], b"x")
        self.runner.join()
        for descriptor in self.stop:
            os.close(descriptor)
        return self.settle()


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        plan = json.load(file)
    server = Server(plan.get("server", plan))
    print("port", server.port, flush=True)
    server.run(sys.stdin.fileno())
    print(json.dumps(server.settle()), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
