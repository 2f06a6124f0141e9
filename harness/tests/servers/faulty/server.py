"""A server of one answer (GET /ping) with a fault of choice in FAULT; standard library only, a thread a connection.

exit         ends at once with status 3 and a last line in its log
silent       never listens
dies         ends by a signal after some requests under load
dies-once    the same, but only in its first life (a file beside it remembers)
term         ignores SIGTERM
daemon       leaves a double-forked child behind that ignores SIGTERM
wildcard     listens on every address
wrong        answers 200 with another body once in 50
errors       answers 503 once in 20
chatter      writes a line of 1,000 bytes a request
stops        stops itself (SIGSTOP) before it listens
terminal     reads standard input and sets the terminal, as some tools do, and then serves
rogue-child  its CPU time goes into children that end and that nobody waits for
fled-child   the same work in double-forked children of another session
rare         answers 200 with another body once in 5,000
half         becomes slower by half while it runs
chunks       cheap to send and dear to read: 100,000 chunks of one byte
works-on     keeps a CPU busy from its first answer on, as a JVM does that compiles
second       lets somebody else listen on its port, too, a while after it started
"""
import os
import signal
import socket
import sys
import threading
import time

FAULT = os.environ.get("FAULT", "")
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"ok\":true}"
WRONG = ANSWER.replace(b"true", b"nope")
CHUNKS = (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
          + b"".join(b"1\r\n%c\r\n" % c for c in b'{"ok":true' + b" " * 100000 + b"}") + b"0\r\n\r\n")
BUSY = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
lock = threading.Lock()
seen = 0


def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def count():
    global seen
    with lock:
        seen += 1
        return seen


def answer(number, started):
    if FAULT in ("dies", "dies-once") and number > 200:
        if FAULT == "dies" or not os.path.exists("/tmp/" + os.environ["MARK"]):
            if FAULT == "dies-once":
                open("/tmp/" + os.environ["MARK"], "w").close()
            os.kill(os.getpid(), signal.SIGABRT)
    if FAULT == "wrong" and number % 50 == 0:
        return WRONG
    if FAULT == "errors" and number % 20 == 0:
        return BUSY
    if FAULT == "chatter":
        print("x" * 999, flush=True)
    if FAULT == "rogue-child" and number % 10 == 0 and os.fork() == 0:
        burn(0.02)
        os._exit(0)
    if FAULT == "fled-child" and number % 10 == 0 and os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            burn(0.02)
        os._exit(0)
    if FAULT == "rare" and number % 5000 == 300:
        return WRONG
    if FAULT == "chunks":
        return CHUNKS
    if FAULT == "works-on" and number == 1 and os.fork() == 0:
        while os.getppid() != 1:
            burn(0.05)
        os._exit(0)
    if FAULT == "half":
        time.sleep(0.001 * (1 + (time.monotonic() - started) ** 2 / 4))
    return ANSWER


def serve(connection, started):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    rest = b""
    try:
        while True:
            while b"\r\n\r\n" not in rest:
                data = connection.recv(65536)
                if not data:
                    return
                rest += data
            rest = rest[rest.index(b"\r\n\r\n") + 4:]
            connection.sendall(answer(count(), started))
    except OSError:
        pass
    finally:
        connection.close()


def leave_a_daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(300)
        os._exit(0)
    os.wait()


def main():
    if FAULT == "exit":
        print("no licence found", flush=True)
        sys.exit(3)
    if FAULT == "silent":
        time.sleep(300)
    if FAULT == "term":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if FAULT == "daemon":
        leave_a_daemon()
    if FAULT == "stops":
        os.kill(os.getpid(), signal.SIGSTOP)
    if FAULT in ("rogue-child", "fled-child"):
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    if FAULT == "terminal":
        print("stdin says", repr(sys.stdin.read()), "terminal", os.isatty(0), flush=True)
        os.system("stty sane </dev/tty")
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if FAULT == "second":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listener.bind(("" if FAULT == "wildcard" else os.environ["HOST"], int(os.environ["PORT"])))
    listener.listen(1024)
    started = time.monotonic()
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection, started), daemon=True).start()


main()
