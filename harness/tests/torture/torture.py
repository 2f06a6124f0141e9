#!/usr/bin/env python3
"""torture - a small study with a real database, killed again and again and resumed each time.

    make torture [TORTURE_KILLS=200] [TORTURE_SEED=N]

First the study runs undisturbed: its cells are the list that every later run must end with. Then, until there were so
many kills: at a random moment SIGKILL to restbench, SIGKILL to a child of it, SIGKILL to a process of PostgreSQL, or
SIGINT. Who was ended is resumed. A child or a database is killed once a cell at most: a cell is tried twice, no more.
Ends with one line of figures; exit status 1 when a cell is lost or there twice, or something is left running.
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
from study import Study, folder_of, short_database_study  # noqa: E402
from tap import RESTBENCH  # noqa: E402

KILLS = int(os.environ.get("TORTURE_KILLS", "200"))
SEED = int(os.environ.get("TORTURE_SEED", str(time.time_ns() % 1000000)))
PATIENCE = 300  # seconds that any life may take


class Torture:
    def __init__(self, folder):
        self.folder = folder
        self.kills = {"restbench": 0, "child": 0, "postgres": 0, "SIGINT": 0}
        self.lost = self.double = self.left = self.failed = 0
        self.cells = 0
        self.studies = 0
        self.wanted = []
        self.seconds = 0.0  # of the undisturbed run
        self.spared = -1    # cells that were there at the last kill that restbench itself must survive

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

    def victims(self, study):
        """Who can be killed now, by kind."""
        found = {"restbench": [], "SIGINT": [], "child": [], "postgres": []}
        if len(study.csv()) == self.spared:
            return found
        for pid in study.processes():
            found["postgres" if "/pg/" in folder_of(pid) + "/" else "child"].append(pid)
        return found

    def strike(self, study, process):
        """One kill; true when restbench itself is gone."""
        victims = self.victims(study)
        kind = random.choice(["restbench", "SIGINT", *(k for k in ("child", "postgres") if victims[k])])
        self.kills[kind] += 1
        if kind in ("child", "postgres"):
            self.spared = len(study.csv())
            try:
                os.kill(random.choice(victims[kind]), signal.SIGKILL)
            except ProcessLookupError:
                self.kills[kind] -= 1
            return False
        process.send_signal(signal.SIGINT if kind == "SIGINT" else signal.SIGKILL)
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

    def torment(self, study, kills):
        """One study until it is complete; at most so many kills."""
        before = sum(self.kills.values())
        self.spared = -1
        self.studies += 1
        process = study.start("--resume")
        while True:
            wait = random.uniform(0, self.seconds) if sum(self.kills.values()) - before < kills else PATIENCE
            try:
                status = process.wait(wait)
            except subprocess.TimeoutExpired:
                if wait == PATIENCE:
                    self.wrong("a run does not end", study)
                    study.kill(process)
                    return
                if self.strike(study, process):
                    process = study.start("--resume")
                continue
            if study.names("_machine.json") and study.machine()["run"]["complete"]:
                break
            self.wrong(f"restbench ended by itself with {status}", study)
            return
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
