#!/usr/bin/env python3
"""torture - a small study with a real database, killed again and again and resumed each time.

    make torture [TORTURE_KILLS=200] [TORTURE_SEED=N]

First the study runs undisturbed: its cells are the list that every later run must end with. Then, until there were so
many kills, each kind as often as the others: at a random moment SIGKILL to restbench, to the server, to the load
generator, to the postmaster, to another process of PostgreSQL, or SIGINT to restbench. Who was ended is resumed. What
restbench itself must survive happens once a cell at most: a cell is tried twice, no more. Ends with one line of
figures; exit status 1 when a cell is lost or there twice, or something is left running.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
from study import folder_of, short_database_study  # noqa: E402
from tap import RESTBENCH  # noqa: E402

KILLS = int(os.environ.get("TORTURE_KILLS", "200"))
SEED = int(os.environ.get("TORTURE_SEED", str(time.time_ns() % 1000000)))
PATIENCE = 300  # seconds that any life may take
ENDS = ("restbench", "SIGINT")  # restbench is gone after it
KINDS = (*ENDS, "server", "generator", "postmaster", "backend")


def parent_of(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def ended_within(process, seconds):
    try:
        process.wait(seconds)
        return True
    except subprocess.TimeoutExpired:
        return False


def is_complete(study):
    return bool(study.names("_machine.json")) and study.machine()["run"]["complete"]


class Torture:
    def __init__(self, folder):
        self.folder = folder
        self.kills = dict.fromkeys(KINDS, 0)
        self.bag = []  # kinds of the next kills
        self.lost = self.double = self.left = self.failed = 0
        self.cells = 0
        self.studies = 0
        self.wanted = []
        self.seconds = 0.0  # of the undisturbed run
        self.spared = -1    # cells that were there at the last kill that this restbench must survive; -1: none yet

    def say(self, text):
        print(f"{sum(self.kills.values()):4} {text}", flush=True)

    def wrong(self, what, study):
        self.failed += 1
        self.say(f"WRONG: {what}")
        print(study.err()[-3000:], flush=True)

    def undisturbed(self, study):
        process = study.start()
        study.wait_for(lambda: process.poll() is not None or study.now(), PATIENCE)
        started = time.monotonic()  # builds, and making the cluster, come once
        status = process.wait(PATIENCE)
        self.seconds = time.monotonic() - started
        self.wanted = study.cells()
        if status != 0 or self.wanted != study.plan():
            self.wrong(f"the undisturbed run ended with {status}", study)
        self.say(f"undisturbed: {len(self.wanted)} cells in {self.seconds:.0f} s")

    def is_spared(self, study):
        """The cell that the last kill may have hit is not finished yet."""
        if self.spared < 0:
            return False
        try:
            since = [d for d in study.details() if "kind" not in d][self.spared:]
        except ValueError:  # a line is being written
            return True
        return len(since) < 2 and not any(d["attempt"] > 1 for d in since)

    def victims(self, study, kind):
        """Who can be killed in that way now."""
        if kind in ENDS:
            return [study.pids[-1]]
        if self.is_spared(study):
            return []
        folders = {pid: folder_of(pid) + "/" for pid in study.processes()}
        if kind in ("server", "generator"):
            place = {"server": ("build",), "generator": ("run", "work")}[kind]
            start = os.path.join(os.path.realpath(study.state), *place, "")
            return [pid for pid, folder in folders.items() if folder.startswith(start)]
        postgres = [pid for pid, folder in folders.items() if "/pg/" in folder]
        return [pid for pid in postgres if (parent_of(pid) in postgres) == (kind == "backend")]

    def strike(self, study, process, kind):
        """One kill; true when there was somebody to kill."""
        victims = self.victims(study, kind)
        if not victims:
            return False
        before = len(study.csv())
        try:
            os.kill(random.choice(victims), signal.SIGINT if kind == "SIGINT" else signal.SIGKILL)
        except ProcessLookupError:
            return False
        self.kills[kind] += 1
        if os.environ.get("TORTURE_TELL"):
            self.say(f"{time.monotonic():.1f} {kind}, {before} cells, {study.now().get('now')}")
        self.spared = before
        if kind not in ENDS:
            return True
        self.spared = -1
        started = time.monotonic()
        status = process.wait(PATIENCE)
        if kind == "SIGINT" and status == -signal.SIGINT:
            self.nothing_left(study, f"SIGINT ({time.monotonic() - started:.1f} s)")
        elif status not in (-signal.SIGKILL, 0, 1):
            self.wrong(f"{kind}: restbench ended with {status}", study)
        return True

    def nothing_left(self, study, when):
        left = study.processes() + study.groups()
        if left:
            self.left += len(left)
            self.wrong(f"left after {when}: {left}", study)

    def compare(self, study):
        cells = study.cells()
        self.cells += len(cells)
        self.lost += len([c for c in self.wanted if c not in cells])
        self.double += len(cells) - len(set(cells))
        if cells != self.wanted or len(study.csv()) != len(cells):
            self.wrong(f"cells {cells}, {len(study.csv())} CSV lines", study)
        verify = subprocess.run([RESTBENCH, "verify", study.whole("_no-auth.csv")[0]], capture_output=True, text=True,
                                check=False)
        if verify.returncode != 0:
            self.wrong(f"verify finds a fault: {verify.stdout}{verify.stderr}", study)
        self.nothing_left(study, "the end")

    def strike_sometime(self, study, process):
        """The next kill, at a random moment; its kind, or None when the run ended before it."""
        self.bag = self.bag or random.sample(KINDS, len(KINDS))
        wait = random.uniform(0, self.seconds / 2)
        while not ended_within(process, wait):
            if self.strike(study, process, self.bag[-1]):
                return self.bag.pop()
            # Not right at its start when it comes: after some time of its own life.
            if not study.wait_for(lambda: process.poll() is not None or self.victims(study, self.bag[-1]), PATIENCE):
                break
            wait = random.uniform(0, 0.4)
        return None

    def start_another(self, study):
        """Killed when all was measured: what it left then is ended by whoever starts next."""
        other = short_database_study(study.folder + "-next", study.state)
        if not ended_within(other.start("--tests", "ping", "--rounds", "1"), PATIENCE):
            self.wrong("the next run does not end", other)

    def torment(self, study, kills):
        """One study until it is complete; at most so many kills."""
        last = sum(self.kills.values()) + kills
        self.spared = -1
        self.studies += 1
        process = study.start("--resume")
        while self.failed == 0 and sum(self.kills.values()) < last:
            kind = self.strike_sometime(study, process)
            if kind in ENDS and is_complete(study):
                self.start_another(study)
                break
            if kind is None:
                break
            if kind in ENDS:
                process = study.start("--resume")
        if not ended_within(process, PATIENCE):
            self.wrong("a run does not end", study)
            study.kill(process)
        elif not is_complete(study):
            self.wrong(f"restbench ended by itself with {process.returncode}", study)
        else:
            self.compare(study)


def main():
    random.seed(SEED)
    folder = tempfile.mkdtemp(prefix="restbench-torture-")
    os.chmod(folder, 0o755)
    torture = Torture(folder)
    state = os.path.join(folder, "state")
    print(f"seed {SEED}, {KILLS} kills", flush=True)
    torture.undisturbed(short_database_study(os.path.join(folder, "undisturbed"), state))
    while torture.failed == 0 and sum(torture.kills.values()) < KILLS:
        study = short_database_study(os.path.join(folder, f"study{torture.studies + 1}"), state)
        torture.torment(study, KILLS - sum(torture.kills.values()))
        torture.say(f"study {torture.studies} is whole" if torture.failed == 0 else "stops here")
    kinds = ", ".join(f"{count} {kind}" for kind, count in torture.kills.items())
    print(f"kills {sum(torture.kills.values())} ({kinds}); {torture.studies} studies, {torture.cells} cells: "
          f"lost {torture.lost}, double {torture.double}, left running {torture.left}", flush=True)
    if torture.failed == 0:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        print(f"kept: {folder}")
    sys.exit(1 if torture.failed else 0)


main()
