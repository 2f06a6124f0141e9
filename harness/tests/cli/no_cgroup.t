#!/usr/bin/env python3
"""TAP: where no cgroup can be made a run measures all the same: CPU time comes from /proc, what that cannot see is marked,
and everything is ended, also what left its session."""

import shutil
import subprocess

from study import Study
from tap import RESTBENCH, Tap

t = Tap()
INSIDE = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"', "sh"]

if shutil.which("unshare") is None or subprocess.run([*INSIDE, "true"], check=False, capture_output=True).returncode != 0:
    print("1..0 # SKIP /sys/fs/cgroup cannot be hidden here (needs root)")
    raise SystemExit(0)

study = Study(t.path("none"), {"good": "", "daemon": "daemon", "term": "term", "fled": "fled-child"}, seconds=1.0)
done = subprocess.run([*INSIDE, RESTBENCH, *study.arguments()], check=False, capture_output=True, text=True, timeout=180,
                      stdin=subprocess.DEVNULL)
t.is_(done.returncode, 0, "a run without cgroups comes to its end", done.stderr)
said = [line for line in done.stderr.splitlines() if line.startswith("cgroups ")]
t.ok(len(said) == 1 and "/sys/fs/cgroup" in said[0] and "CPU time comes from /proc" in said[0],
     "one line says why there is none, and where CPU time comes from", done.stderr)
machine = study.machine()["machine"]
t.ok(machine["cgroup"] == "none" and "/sys/fs/cgroup" in machine["cgroup_reason"], "so does the machine file", machine)
t.is_(study.cells(), study.plan(), "every cell once", done.stderr)
cells = {d["row"]["id"]: d for d in study.details() if "kind" not in d}
t.is_({cell["cpu"]["server"]["source"] for cell in cells.values()}, {"proc"}, "each cell names the source")
t.ok(cells["good"]["cpu"]["server"]["total_s"] > 0 and cells["good"]["memory"]["processes"] == 1,
     "a server's CPU time is known without them", cells["good"]["cpu"]["server"])
names = {row: [mark["name"] for mark in cell["marks"]] for row, cell in cells.items()}
t.ok("accounting" in names["fled"], "work that only a cgroup would have seen is marked", names)
t.ok("accounting" not in names["good"] + names["daemon"], "and what /proc sees is not", names)
t.is_((study.processes(), study.groups()), ([], []), "nothing is left: no daemon, no server that ignores SIGTERM")

# Killed: whoever comes next ends what it left.
study = Study(t.path("killed"), {"daemon": "daemon"}, seconds=100)
process = subprocess.Popen([*INSIDE, RESTBENCH, *study.arguments()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
t.ok(study.wait_for(study.generators), "a run with a daemon is under way")
t.ok(len(study.processes()) >= 3, "server, daemon and generator run", study.processes())
study.kill(process)
got = t.run(*study.arguments("--servers", "daemon", "--seconds", "0.3"))
t.is_((got.status, study.processes()), (0, []), "after SIGKILL the next run leaves nothing of either", got.err)

t.done()
