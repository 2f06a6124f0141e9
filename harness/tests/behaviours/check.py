"""What one object of `restbench load -o json` must say: by itself, against the server's own report, against a wish.

Every function returns a list of sentences, one a fault; an empty list is a pass.
"""

import json
import re

KINDS = ("connect", "timeout", "closed", "truncated", "malformed", "status", "mismatch")
ORDER = ("min", "p50", "p90", "p99", "p99_9", "p99_99", "max")


def parse(text):
    """Strict JSON: one object, no NaN, no key twice."""

    def once(pairs):
        if len(dict(pairs)) != len(pairs):
            raise ValueError("a key stands twice in " + json.dumps(dict(pairs))[:80])
        return dict(pairs)

    def no_constant(name):
        raise ValueError(name + " is not JSON")

    return json.loads(text, object_pairs_hook=once, parse_constant=no_constant)


def fits(value, want):
    """want: a value, or [least, most] where null is open."""
    if isinstance(want, list):
        return (
            isinstance(value, (int, float))
            and (want[0] is None or value >= want[0])
            and (want[1] is None or value <= want[1])
        )
    return value == want and isinstance(value, bool) == isinstance(want, bool)


def at(value, path):
    for key in path.split("."):
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


def same(faults, what, left, right):
    if left != right:
        faults.append(f"{what}: {left} is not {right}")


def latency(faults, result, ours):
    values = [ours["latency_us"][name] for name in ORDER]
    other = result["latency"]
    if ours["ok"] == 0:
        named = {**{name: ours["latency_us"][name] for name in ORDER + ("mean",)}, "result.max": other["max"]}
        for name, value in named.items():
            same(faults, f"no sample, latency {name}", value, None)
        return
    if None in values or sorted(values) != values:
        faults.append(f"latencies out of order: {values}")
        return
    same(faults, "samples in the histogram", sum(count for _, count in ours["latency_us"]["histogram"]), ours["ok"])
    percentiles = [other["percentiles"][p] for p in ("50", "75", "90", "95", "99")] + [other["max"]]
    if None in percentiles or sorted(percentiles) != percentiles:
        faults.append(f"latencies of the result out of order: {percentiles}")
        return
    for name, there in (("p50", percentiles[0]), ("p90", percentiles[2]), ("p99", percentiles[4]), ("max", other["max"])):
        if abs(ours["latency_us"][name] - there) > 1 + 0.01 * there:
            faults.append(f"latency {name}: {ours['latency_us'][name]} beside {there} in the result")


def identities(data):
    """The rules that hold in every object, whatever the server did."""
    faults = []
    result, ours = data["result"], data["restbench"]
    errors = ours["errors"]
    same(faults, "kinds of error", sorted(errors), sorted(KINDS))
    total = sum(errors.values())
    same(faults, "started = ok + errors + in flight", ours["started"], ours["ok"] + total + ours["in_flight"])
    same(faults, "req2xx = ok", result["req2xx"], ours["ok"])
    same(
        faults,
        "answers other than 2xx = errors.status",
        sum(result[f"req{n}xx"] for n in "1345"),
        errors["status"],
    )
    same(faults, "others = errors without an answer", result["others"], total - errors["status"] - errors["mismatch"])
    listed = sum(error["count"] for error in result["errors"])
    if listed not in (result["others"], total - errors["status"], total):
        faults.append(f"the list of errors has {listed}, the counts have {total}")
    for name, value in list(errors.items()) + [(n, ours[n]) for n in ("started", "ok", "in_flight", "drained_ok")]:
        if not isinstance(value, int) or value < 0:
            faults.append(f"{name} is {value}")
    if ours["drained_ok"] > ours["in_flight"]:
        faults.append(f"drained {ours['drained_ok']} of {ours['in_flight']} in flight")
    same(faults, "sum of per_second.ok", sum(second["ok"] for second in ours["per_second"]), ours["ok"])
    seconds = result["timeTakenSeconds"]
    mean = result["rps"]["mean"]
    if ours["ok"] and seconds and abs(mean - ours["ok"] / seconds) > 0.01 * mean:
        faults.append(f"rps.mean {mean} is not {ours['ok']} / {seconds}")
    latency(faults, result, ours)
    return faults


def server_count(data, report):
    """The server's own count lies between what was certainly served and what was started (warm-up on top)."""
    ours = data["restbench"]
    errors = ours["errors"]
    least = ours["started"] - errors["connect"] - errors["closed"] - ours["in_flight"] + ours["warmup_ok"]
    if report["seen"] < least:
        return [f"the server saw {report['seen']} requests, at least {least} were reported as served"]
    if ours["warmup_ok"] == 0 and report["seen"] > ours["started"]:
        return [f"the server saw {report['seen']} requests, only {ours['started']} were reported as started"]
    return []


def exit_status(data, code):
    ours = data["restbench"]
    well = ours["ok"] > 0 and sum(ours["errors"].values()) == 0
    return [] if code == (0 if well else 1) else [f"exit {code} with {ours['ok']} ok and errors {ours['errors']}"]


def wish(data, report, code, stderr, want):
    """One set of expectations of a behaviour.json (see README.md there)."""
    faults = []
    codes = want.get("exit", 0)
    if code not in (codes if isinstance(codes, list) else [codes]):
        faults.append(f"exit {code}, not {codes}")
    if "stderr" in want and not re.search(want["stderr"], stderr):
        faults.append(f"standard error does not match /{want['stderr']}/: {stderr[:200]!r}")
    for name, value in want.get("server", {}).items():
        if name in ("heads", "not_heads"):
            heads = "".join(report["heads"])
            for pattern in value:
                if bool(re.search(pattern, heads, re.M)) != (name == "heads"):
                    faults.append(f"{name}: /{pattern}/ in {heads[:300]!r}")
        elif not fits(report[name], value):
            faults.append(f"server's {name} is {report[name]}, not {value}")
    if data is None:
        return faults
    ours = data["restbench"]
    for kind in ("ok",) + KINDS:
        value = ours["ok"] if kind == "ok" else ours["errors"][kind]
        if not fits(value, want.get(kind, 0)):
            faults.append(f"{kind} is {value}, not {want.get(kind, 0)}")
    failed = any(ours["errors"].values())
    for name, usual in (("started", None), ("in_flight", None), ("reconnects", None if failed else 0)):
        value = want.get(name, usual)
        if value is not None and not fits(ours[name], value):
            faults.append(f"{name} is {ours[name]}, not {value}")
    for path, value in want.get("json", {}).items():
        if not fits(at(data, path), value):
            faults.append(f"{path} is {at(data, path)}, not {value}")
    return faults


def wishes(data, report, code, stderr, want):
    """`either` lists alternatives that are laid over the rest; one of them must hold."""
    alternatives = want.get("either", [{}])
    found = []
    for alternative in alternatives:
        faults = wish(data, report, code, stderr, {**want, **alternative})
        if not faults:
            return []
        found.append("; ".join(faults))
    return [" | or: ".join(found)]
