#!/usr/bin/env python3
"""TAP: a bundle repeats its run: configuration and servers come out of the archive."""

import os
import shutil

from study import Study
from tap import Tap

t = Tap()
study = Study(t.path("first"), {"good": "", "lacking": ""})
study.add_server("lacking", "", requires=[{"env": "NO_SUCH_PATH", "hint": "a path"}])
got = t.run(*study.arguments())
t.is_(got.status, 0, "a run", got.err)
csv = os.path.join(study.data, [n for n in os.listdir(study.data) if n.endswith("_no-auth.csv")][0])
got = t.run("bundle", csv)
archive = csv[:-4] + ".tar.gz"
t.is_(got.status, 0, "its bundle", got.err)
shutil.rmtree(os.path.join(study.folder, "servers"))
os.unlink(study.path)
before = set(os.listdir("/tmp"))
got = t.run("run", "--from", archive, "--data", t.path("again"), "--state", t.path("state"))
t.is_(got.status, 0, "the run again, from the bundle alone", got.err)
t.has(got.err, "from       without lacking: the bundle does not hold their sources", "without a row that was never measured")
again = [n for n in os.listdir(t.path("again")) if n.endswith("_no-auth.csv")] if os.path.isdir(t.path("again")) else []
t.is_(len(again), 1, "it has its own data")
left = [n for n in set(os.listdir("/tmp")) - before if n.startswith("restbench-from")]
t.is_(left, [], "nothing is left of the unpacked bundle")
got = t.run("run", "other.json", "--from", archive)
t.is_(got.status, 2, "a study file beside --from is refused", got.err)
got = t.run("run", "--from", t.path("no.tar.gz"))
t.ok(got.status == 2 and len(got.err.splitlines()) == 1, "a bundle that is not there is one line", got.err)
t.done()
