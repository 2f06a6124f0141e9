#!/usr/bin/env python3
"""TAP: `run --until` adds rounds until every median's interval is within the bound, and names what did not get there."""

import re

from study import Study
from tap import Tap

t = Tap()

# A bound that is always met as soon as it may be judged.
study = Study(t.path("wide"), {"a": "", "b": ""}, seconds=0.3)
got = t.run(*study.arguments("--until", "1000%", "--rounds", "9"))
t.is_(got.status, 0, "--until with a wide bound", got.err)
t.is_(len(study.csv()), 6, "ends after three rounds: fewer do not show their noise", got.err)
t.has(got.err, "until      3 rounds: 2 of 2 medians are within 1000 %: enough", "and says why")
t.is_(study.machine()["rounds"], 3, "machine.json has the rounds that there are")
t.is_(study.machine()["run"]["complete"], True, "the run is complete")
t.hasnt(got.out, "] rounds: ", "no cell lacks a round")
t.is_([cell[:2] for cell in study.cells()], [(1, "a"), (1, "b"), (2, "b"), (2, "a"), (3, "a"), (3, "b")],
      "the order alternates")
t.is_(t.run("verify", study.whole("_no-auth.csv")[0]).status, 0, "verify agrees")

# One that cannot be met.
study = Study(t.path("narrow"), {"a": "", "b": ""}, seconds=0.3)
got = t.run(*study.arguments("--until", "0.001%", "--rounds", "4"))
t.is_(got.status, 0, "--until with a bound out of reach", got.err)
t.is_(len(study.csv()), 8, "ends at --rounds, the most", got.err)
t.has(got.err, "until      3 rounds: 0 of 2 medians are within 0.001 %\n", "each round is judged")
last = [line for line in got.err.splitlines() if line.startswith("until      not within")]
t.ok(len(last) == 1 and re.fullmatch(
    r"until      not within 0\.001 % after 4 rounds: Server a, ping, 4 \([\d.]+ %\); Server b, ping, 4 \([\d.]+ %\)", last[0]),
    "what did not get there is named, with its interval", got.err)

for word in ("x", "-1%", "0%"):
    got = t.run(*study.arguments("--until", word))
    t.ok(got.status == 2 and got.err.count("\n") == 1 and "--until" in got.err, f"--until {word} is refused", got.err)

t.done()
