#!/usr/bin/env python3
"""TAP: a test of a study that sends many different requests."""

import csv
import os
import sys

from study import ROOT, short_database_study
from tap import Tap

sys.dont_write_bytecode = True
t = Tap()
STATE = t.path("state")


def study(name, requests, **changes):
    read = {"name": "any", "title": "Any row", "path": "/clienti/42", "requests": requests,
            "expect": {"sql": "SELECT json_build_object('id', id, 'ragione_sociale', ragione_sociale, 'citta', citta, "
                              "'email', email, 'saldo', saldo, 'creato', creato) FROM clienti WHERE id = 42"}}
    return short_database_study(t.path(name), STATE, tests=[read], rounds=1, **changes)


# One row that is there and one that is not: half of the answers are errors when both are asked for.
half = study("half", {"sql": "SELECT string_agg(json_build_object('path', '/clienti/' || id)::text, E'\\n') "
                             "FROM (VALUES (7), (100001)) AS v(id)"}, security="jwt")
got = t.run(*half.arguments())
line = ([*csv.reader(half.read("_jwt.csv")[1:])] or [[]])[0]
right, wrong = (int(line[8]), int(line[9])) if len(line) > 9 else (0, 0)
# Within one round of the ring the order is a drawn one, so a window's shares are only near.
t.ok(abs(right - wrong) <= 10 + 5 * (right + wrong) ** 0.5 and min(right, wrong) > 20,
     "requests of SQL, each drawn as often", (line, got.err))

whole = study("whole", {"sql": "SELECT string_agg(json_build_object('path', '/clienti/' || id)::text, E'\\n') FROM clienti"})
got = t.run(*whole.arguments())
cell = [d for d in whole.details() if "kind" not in d]
errors = [row[9] for row in csv.reader(whole.read("_no-auth.csv")[1:])]
t.is_((got.status, len(cell), errors), (0, 1, ["0"]), "100,000 different requests", got.err)

got = t.run(*whole.arguments("--tool", "wrk"))
t.is_((got.status, got.err.count("\n")), (2, 1), "a tool that cannot send them: exit 2, one line", got.err)
t.has(got.err, "many requests of test any", "which says so")

bad = study("bad", {"sql": "SELECT 'no JSON'"})
got = t.run(*bad.arguments())
t.ok(got.status != 0 and "any:1:2" in got.err and bad.names(".csv") == [], "SQL that gives no requests: before any file", got.err)

got = t.run("run", os.path.join(ROOT, "config", "random-reads.json"), "--dry-run", "--state", STATE)
t.ok(got.status == 0 and "select_any" in got.out, "config/random-reads.json is a study", got.err)
t.done()
