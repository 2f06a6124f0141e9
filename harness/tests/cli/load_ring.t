#!/usr/bin/env python3
"""TAP: `restbench load --requests`: what goes out, in which shares and order, what is expected back."""

import collections
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from load_server import Serving, faults, load, misbehaving  # noqa: E402
from tap import Tap  # noqa: E402

misbehaving.KEEP_HEADS = 10000
t = Tap()


def ring(*lines):
    path = t.path("ring.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def targets(report):
    return [head.split("\r\n")[0].rsplit(" ", 1)[0] for head in report["heads"]]


mixed = ring(
    {"path": "/a?x=%20y", "weight": 3, "expect": {"status": 200, "body": "ok"}},
    "",
    {"method": "POST", "path": "/b", "body": {"n": 1.5}, "headers": {"X-Own": "1"}},
)
with Serving() as s:
    got, data = load(t, "-c", "3", "--threads", "1", "-n", "4096", "--requests", mixed, "-H", "X-All: 2", s.url)
t.is_((got.status, faults(data)), (0, []), "a ring of two", got.err)
counts = collections.Counter(targets(s.report))
t.is_(counts, {"GET /a?x=%20y": 3072, "POST /b": 1024}, "drawn exactly by weight in a whole round")
posted = next(head for head in s.report["heads"] if head.startswith("POST"))
t.has(posted, "\r\nContent-Length: 9\r\n", "a body that is JSON")
t.has(posted, "\r\nX-All: 2\r\nX-Own: 1\r\n", "headers of the command line and of the line")

orders = []
for seed in ("7", "7", "8"):
    with Serving() as s:
        load(t, "-c", "1", "-n", "200", "--requests", mixed, "--seed", seed, s.url)
    orders.append(targets(s.report))
t.is_(orders[0], orders[1], "one seed, one order")
t.ok(orders[0] != orders[2], "another seed, another order")

for name, expect, kind in (
    ("body", {"body": "no"}, "mismatch"),
    ("status", {"status": 201}, "mismatch"),
    ("both", {"status": 200, "body": "ok"}, None),
):
    for engine in ("epoll", "io_uring"):
        with Serving() as s:
            got, data = load(t, "-c", "2", "-n", "20", "--engine", engine, "--expect-every", "1", "--requests",
                             ring({"path": "/", "expect": expect}), s.url)
        errors = data["restbench"]["errors"]
        t.is_((data["restbench"]["ok"], errors["mismatch"]), (0, 20) if kind else (20, 0), f"{engine}: expected {name}", data)
with Serving() as s:
    got, data = load(t, "-c", "1", "-n", "100", "--expect-every", "10", "--requests", ring({"path": "/", "expect": {"body": "no"}}), s.url)
t.is_(data["restbench"]["errors"]["mismatch"], 10, "one body in ten is compared")


def refused(name, wanted, *lines, more=()):
    got = t.run("load", "--requests", ring(*lines), *more, "http://127.0.0.1:1/")
    t.is_((got.status, got.out, got.err.count("\n")), (2, "", 1), f"{name}: exit 2, one line", got.err)
    t.has(got.err, wanted, f"{name}: where and what")


refused("no JSON", "ring.jsonl:3:11: ", {"path": "/"}, "", '{"path":"/"')
refused("an unknown key", 'ring.jsonl:2:13: unknown key "weigth"', {"path": "/"}, '{"path":"/","weigth":2}')
refused("no path", "ring.jsonl:1:1", {"method": "GET"})
refused("a path without a slash", "a path begins with '/'", {"path": "x"})
refused("a blank in a path", "must be escaped: %20", {"path": "/a b"})
refused("weight 0", "ring.jsonl:1:24", '{"path":"/", "weight": 0}')
refused("a bad header", "ring.jsonl:1:33", '{"path":"/", "headers": {"a b": "1"}}')
refused("a bad method", "GE T", {"path": "/", "method": "GE T"})
refused("another status", "only answers 2xx count as right", {"path": "/", "expect": {"status": 404}})
refused("an empty file", "no request in it; one JSON object a line")
refused("a body beside it", "bodies stand in the file", {"path": "/"}, more=("-b", "x"))
t.done()
