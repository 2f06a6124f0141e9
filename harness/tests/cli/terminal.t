#!/usr/bin/env python3
"""TAP: a run on a terminal that stops background output (stty tostop): servers that read standard input, want the
terminal or end at end-of-file are not stopped by it, and the terminal is afterwards as it was, also after SIGKILL."""

import os
import pty
import signal
import termios
import threading

from study import Study
from tap import RESTBENCH, Tap

t = Tap()


def on_terminal(study, *more):
    """The run as the leader of a terminal of its own: (pid, what to close, its output so far, settings)."""
    pid, master = pty.fork()
    if pid == 0:
        mine = termios.tcgetattr(0)
        mine[3] |= termios.TOSTOP
        termios.tcsetattr(0, termios.TCSANOW, mine)
        os.execv(RESTBENCH, [RESTBENCH, *study.arguments(*more)])
    study.pids.append(pid)
    said = bytearray()

    def read():
        try:
            while True:
                said.extend(os.read(master, 4096))
        except OSError:
            pass

    threading.Thread(target=read, daemon=True).start()
    return pid, master, said


def settings(master):
    """What a shell would find; the queues' sizes and speeds do not matter."""
    return termios.tcgetattr(master)[:4]


study = Study(t.path("tostop"), {"good": "", "terminal": "terminal", "eof": ""})
study.add_server("eof", "", run={"command": ["sh", "-c", "read x || exit 7; exec python3 -B server.py"]})
pid, master, said = on_terminal(study)
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
text = said.decode(errors="replace")
t.is_(status, 1, "a run with servers that want the terminal comes to its end", text)
rows = {row["id"]: row["status"] for row in study.machine()["rows"]}
t.is_(rows, {"good": "measured", "terminal": "measured", "eof": "failed"}, "none of them was stopped", text)
t.has(text, "exited 7 before it listened", "one that reads standard input gets its end at once, and is reported")
t.is_((study.processes(), study.groups()), ([], []), "nothing is left running")
t.ok(settings(master)[3] & termios.TOSTOP, "the terminal's settings are as they were")
os.close(master)

study = Study(t.path("killed"), {"terminal": "terminal"}, seconds=100)
pid, master, said = on_terminal(study)
t.ok(study.wait_for(study.generators), "a run measures on a terminal", said.decode(errors="replace"))
before = settings(master)
os.kill(pid, signal.SIGKILL)
os.waitpid(pid, 0)
t.is_(settings(master), before, "killed, it leaves the terminal as it was")
t.ok(before[3] & termios.ECHO and before[3] & termios.ICANON, "which is a terminal that echoes lines")
os.close(master)
t.ok(study.wait_for(lambda: not study.processes()), "and its servers and load tools end with it", study.processes())
t.done()
