#!/usr/bin/env python3
"""TAP: a server is added by copying a folder and editing its server.json: it is listed, and held to the contract in
both modes. Nothing is built. RESTBENCH names the program."""

import json
import os
import shutil

import tap

tap.SECONDS = 600  # a database is made and filled; a shared machine is slow
MINIMAL = os.path.join(tap.HERE, "..", "servers", "minimal")


def add(servers, name, **changes):
    folder = os.path.join(servers, name)
    shutil.copytree(MINIMAL, folder)
    path = os.path.join(folder, "server.json")
    with open(path, encoding="utf-8") as file:
        recipe = json.load(file)
    recipe.update(changes)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(recipe, file)


def main():
    t = tap.Tap()
    servers = t.path("servers")
    where = ["--servers-dir", servers, "--state", t.path("state")]
    os.chmod(t.folder, 0o755)  # the database's user passes through
    add(servers, "ours", title="Ours {python.major}, edited")
    add(servers, "theirs", title="Theirs", requires=[{"env": "THEIR_LICENCE", "hint": "ask them"}])

    listed = t.run("list", "--json", *where)
    t.is_(listed.status, 0, "the folders are listed", listed.err)
    rows = {row["id"]: row for row in json.loads(listed.out or '{"rows": []}')["rows"]}
    t.is_(sorted(rows), ["ours", "theirs"], "each by the name of its folder")
    t.is_(rows["ours"]["title"], "Ours 3, edited", "with the title of its server.json and the version found")
    t.is_(rows["ours"]["available"], True, "the one that lacks nothing is available")
    t.has(rows["theirs"]["lacks"] or "", "THEIR_LICENCE", "the other says what it lacks")

    for security in "none", "jwt":
        checked = t.run("check", "--security", security, *where)
        t.is_(checked.status, 0, f"the copy keeps the contract, security {security}", checked.out + checked.err)
        t.has(checked.out, "# SKIP", "and the other is skipped")
    t.run("db", "stop", "--state", t.path("state"))
    t.done()


main()
