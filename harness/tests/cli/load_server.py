"""What the load*.t tests share: a server of ../behaviours inside the test, and the generator against it."""

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "behaviours"))
sys.dont_write_bytecode = True
import check  # noqa: E402
import server as misbehaving  # noqa: E402

OK = {"steps": [["ok"]]}


class Serving:
    """with Serving(plan) as s: ... s.url ...; afterwards s.report is what the server saw."""

    def __init__(self, plan=None):
        self.server = misbehaving.Server(plan or OK)

    def __enter__(self):
        self.server.start()
        self.port = self.server.port
        self.url = f"http://127.0.0.1:{self.port}/"
        return self

    def __exit__(self, *_):
        self.report = self.server.finish()


def schema_errors(document):
    """None where there is no validator."""
    try:
        import jsonschema
    except ImportError:
        return None
    with open(os.path.join(HERE, "..", "..", "schema", "load.schema.json"), encoding="utf-8") as file:
        validator = jsonschema.Draft202012Validator(json.load(file))
    return [f"{list(e.absolute_path)}: {e.message}" for e in validator.iter_errors(document)]


def load(t, *args):
    """(the run, its JSON or None): `restbench load -o json -p r ARGS`."""
    got = t.run("load", "-o", "json", "-p", "r", *args)
    try:
        return got, check.parse(got.out)
    except ValueError:
        return got, None


def faults(data):
    """The identities that every result must satisfy."""
    return check.identities(data)
