"""Hooks of Schemathesis: replace generated values with existing entities.

Valid requests refer to existing entities. Otherwise they would find nothing, and each generated sandbox id would start a
sandbox. Invalid requests are sent unchanged.
"""

import json
import os

import schemathesis

with open(os.environ["ENTITIES"], encoding="utf-8") as file:
    ENTITIES = json.load(file)

SANDBOX = ENTITIES["sandboxId"]
TOOLS = [{"name": "code", "snapshot": True, "sandboxId": SANDBOX}]

# The options of downloads, which are in the query.
DOWNLOADS = {
    "/v1/files/download": {"sandboxId": SANDBOX, "snapshotId": ENTITIES["snapshotId"], "path": "notes.txt"},
    "/v1/files/export": {"sandboxId": SANDBOX, "snapshotId": ENTITIES["snapshotId"]},
}

# The values of fields, by name. With an operation before the name, the value applies to that operation only.
VALUES = {
    "sandboxId": SANDBOX,
    "commandId": ENTITIES["commandId"],
    "lineageScope": SANDBOX,
    "snapshotId": ENTITIES["snapshotId"],
    "currentSnapshotId": ENTITIES["snapshotId"],
    "ref": ENTITIES["ref"],
    "cursor": ENTITIES["cursor"],
    "backup": ENTITIES["backup"],
    "label": "kept",
    "excludes": ["node_modules"],
    "/v1/workspaces/promote from": ENTITIES["snapshotId"],
    "/v1/workspaces/fork from": "latest",
    "/v1/workspaces/start from": None,  # Each start from a snapshot makes a sandbox.
    "/v1/workspaces/getOrCreate from": None,
    "/v1/workspaces/stop snapshot": {"expirationSeconds": 3600},
    "/v1/usage name": "work",
    "/v1/snapshot name": "work",
    "/v1/list name": "work",
    "/v1/lineage name": "work",
    "workspace": "work",
    "/v1/usage cursor": "play",
    "/v1/diff from": {"sandboxId": SANDBOX, "snapshotId": ENTITIES["snapshotId"]},
    "/v1/diff to": {"ref": ENTITIES["ref"]},
    "sourceWorkspace": "work",
    "tenant": "team",
    "/v1/tokens/create workspaces": ["work"],
    "workspaces": TOOLS,
    "dir": "/workspace",
    "runtime": "sdk-0.12",
    "storage": "archive",
    "image": None,  # The runtime sdk-0.12 starts no image by its name.
    "count": 1,
    "env": {"LEVEL": "debug"},
    "command": "true",
    "argv": ["true"],
    "cwd": "/tmp",
    "/v1/exec name": "work",
    "/v1/exec timeoutSeconds": 10,
    "/v1/commands/start timeoutSeconds": 10,
    "/v1/commands/output waitSeconds": 0,
    "/v1/commands/end graceSeconds": 0,
    "expiry": {"idleSeconds": 0, "maxSeconds": 0},
    "autosave": {"everySeconds": 300},
    "hooks": {"beforeStop": {"command": "true"}},
    "dependsOn": {"files": ["notes.txt"], "onMismatch": "report"},
    "/v1/workspaces/list cursor": "play",
    "/v1/diff cursor": "bm90ZXMudHh0",
    "/v1/files/list cursor": "bWFpbi5ycw",
    "/v1/files/list path": "/",
    "/v1/files/stat path": "notes.txt",
    "/v1/files/summary path": "/",
    "/v1/files/restore paths": ["notes.txt"],
    "/v1/files/restore to": SANDBOX,
    "/v1/files/read path": "notes.txt",
    "/v1/files/write path": "written.txt",
    "/v1/files/mkdir path": "made",
    "/v1/files/move path": "written.txt",
    "/v1/files/move to": "moved.txt",
    "/v1/files/remove path": "moved.txt",
    "content": "YWJj",
    "ifMatch": None,
    "/v1/tools/call name": "workspace__code__list",
    "/v1/import label": "imported",
    "/v1/delete label": "spare",
    "/v1/delete ref": ENTITIES["spare"],
    "/v1/delete snapshotId": ENTITIES["spare"]["ref"]["snapshotId"],
}

# Operations that start a sandbox for a new name. All of their requests use these names.
NAMES = {"workspaces/": "work", "files/": "work", "commands/": "work", "checkpoints/": "s1"}
NEW_NAMES = {"/v1/workspaces/create": "play", "/v1/workspaces/getOrCreate": "play", "/v1/workspaces/fork newName": "sketch"}

# The headers that must match the body.
DERIVED_HEADERS = {"MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"}

# Operations with an idempotency key, so that a repeated request creates nothing new.
KEYED = {"/v1/restore", "/v1/branch", "/v1/revive", "/v1/workspaces/fork", "/v1/snapshot"}


def replace_value(path, name, value):
    """Returns the value of a field in place of a generated one."""
    if value is None:
        return None
    if (path, name) == ("/v1/diff", "to") and isinstance(value, dict) and set(value) <= {"sandboxId"}:
        return {"sandboxId": SANDBOX}  # The present files.
    if name == "name":
        own = VALUES.get(f"{path} name") or NEW_NAMES.get(path)
        group = next((found for part, found in NAMES.items() if part in path), None)
        return own or group or value
    if name == "newName":
        return NEW_NAMES[f"{path} newName"]
    return VALUES.get(f"{path} {name}", VALUES.get(name, value))


def replace_values(path, body):
    """Returns a body that refers to existing entities."""
    options = {name: replace_value(path, name, value) for name, value in body.items()}
    if isinstance(options.get("sourceSnapshot"), dict):
        options["sourceSnapshot"] = {"ref": ENTITIES["ref"]}
    if path == "/v1/workspaces/fork" and options.get("from") is not None:
        options.pop("secrets", None)  # Only present files are searched.
    if path in KEYED:
        # A key identifies one set of options.
        options["idempotencyKey"] = f"{path} {json.dumps(options, sort_keys=True)}"[:128]
    return options


@schemathesis.hook
def before_call(context, case, kwargs):
    meta = case.meta
    if meta is not None and meta.generation.mode.is_negative:
        return
    if case.path == "/mcp":
        # With the API token, the URL declares the tools.
        case.query = {"sandbox": [SANDBOX]}
        case.headers = {name: value for name, value in case.headers.items() if name not in DERIVED_HEADERS}
    elif case.path in DOWNLOADS:
        case.query = DOWNLOADS[case.path]
    elif isinstance(case.body, dict) and case.path.startswith("/v1/"):
        case.body = replace_values(case.path, case.body)
