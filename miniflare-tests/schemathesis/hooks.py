"""What Schemathesis is told of the place that it tests: the data that is there, and what a schema can't say.

A request that the document allows is about what there is. Otherwise it would find nothing, and each made-up sandbox would be
started. Requests that the document does not allow are sent as they are.
"""

import json
import os

import schemathesis

with open(os.environ["KNOWN"], encoding="utf-8") as file:
    KNOWN = json.load(file)

SANDBOX = KNOWN["sandboxId"]
TOOLS = [{"name": "code", "snapshot": True, "sandboxId": SANDBOX}]

# What a field may be, by its name; where an operation is named before it, in that one alone.
VALUES = {
    "sandboxId": SANDBOX,
    "lineageScope": SANDBOX,
    "snapshotId": KNOWN["snapshotId"],
    "currentSnapshotId": KNOWN["snapshotId"],
    "ref": KNOWN["ref"],
    "cursor": KNOWN["cursor"],
    "backup": KNOWN["backup"],
    "label": "kept",
    "sourceWorkspace": "work",
    "tenant": "team",
    "workspaces": TOOLS,
    "dir": "/workspace",
    "count": 1,
    "env": {"LEVEL": "debug"},
    "expiry": {"idleSeconds": 0, "maxSeconds": 0},
    "hooks": {"beforeStop": {"command": "true"}},
    "dependsOn": {"files": ["notes.txt"], "onMismatch": "report"},
    "/v1/workspaces/list cursor": "play",
    "/v1/tools/call name": "workspace__code__list",
    "/v1/import label": "imported",
    "/v1/delete label": "spare",
    "/v1/delete ref": KNOWN["spare"],
    "/v1/delete snapshotId": KNOWN["spare"]["ref"]["snapshotId"],
}

# Operations that start a sandbox for a name that is new: all of their requests are about these.
NAMES = {"workspaces/": "work", "checkpoints/": "s1"}
MADE = {"/v1/workspaces/create": "play", "/v1/workspaces/getOrCreate": "play", "/v1/workspaces/fork newName": "sketch"}

# The headers that repeat what the body says.
REPEATED = {"MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"}

# Each of these makes a sandbox; the same key gets the same one.
ONCE = {"/v1/restore", "/v1/branch", "/v1/workspaces/fork", "/v1/snapshot"}


def known(path, name, value):
    """What a field is in place of a value that was made up."""
    if value is None:
        return None
    if name == "name":
        own = VALUES.get(f"{path} name") or MADE.get(path)
        group = next((found for part, found in NAMES.items() if part in path), None)
        return own or group or value
    if name == "newName":
        return MADE[f"{path} newName"]
    return VALUES.get(f"{path} {name}", VALUES.get(name, value))


def about_what_there_is(path, body):
    """A body that is about what there is."""
    options = {name: known(path, name, value) for name, value in body.items()}
    if isinstance(options.get("sourceSnapshot"), dict):
        options["sourceSnapshot"] = {"ref": KNOWN["ref"]}
    if path in ONCE:
        # A key belongs to one set of options.
        options["idempotencyKey"] = f"{path} {json.dumps(options, sort_keys=True)}"[:128]
    return options


@schemathesis.hook
def before_call(context, case, kwargs):
    meta = case.meta
    if meta is not None and meta.generation.mode.is_negative:
        return
    if case.path == "/mcp":
        # With the API token the URL says which tools there are.
        case.query = {"sandbox": [SANDBOX]}
        case.headers = {name: value for name, value in case.headers.items() if name not in REPEATED}
    elif isinstance(case.body, dict) and case.path.startswith("/v1/"):
        case.body = about_what_there_is(case.path, case.body)
