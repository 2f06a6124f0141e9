"""tap - the few words that a command-line test in Python needs: run the program, say what holds.

    t = Tap()
    got = t.run("verify", path)                      # a Run: status, out, err
    t.is_(got.status, 0, "a clean file")
    t.done()
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
RESTBENCH = os.environ.get("RESTBENCH", os.path.join(HERE, "..", "..", "..", "restbench"))
CASES = os.path.join(HERE, "..", "cases")
# Whoever started the tests in the background had these ignored, and children inherit that; here they are sent and meant.
for interrupt in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(interrupt) is signal.SIG_IGN:
        signal.signal(interrupt, signal.default_int_handler if interrupt == signal.SIGINT else signal.SIG_DFL)
SECONDS = 180  # a run that takes longer is ended and failed; others use the machine too


class Run:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err


class Tap:
    def __init__(self):
        self.count = self.failed = 0
        self.folder = tempfile.mkdtemp(prefix="restbench-test-")

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *args, env=None, cwd=None):
        merged = {**os.environ, **(env or {})}
        try:
            done = subprocess.run([RESTBENCH, *args], capture_output=True, env=merged, cwd=cwd or self.folder,
                                  timeout=SECONDS, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return Run(None, "", f"did not end within {SECONDS} s")
        return Run(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))

    def ok(self, condition, name, why=""):
        self.count += 1
        if condition:
            print(f"ok {self.count} - {name}")
            return
        self.failed += 1
        print(f"not ok {self.count} - {name}")
        for line in str(why).splitlines()[:40]:
            print(f"# {line}")

    def is_(self, found, wanted, name, why=""):
        self.ok(found == wanted, name, f"expected {wanted!r}, found {found!r}\n{why}")

    def has(self, text, part, name):
        self.ok(part in text, name, f"expected {part!r} in\n{text}")

    def hasnt(self, text, part, name):
        self.ok(part not in text, name, f"did not expect {part!r} in\n{text}")

    def done(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        print(f"1..{self.count}")
        sys.exit(1 if self.failed else 0)
