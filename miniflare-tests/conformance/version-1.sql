CREATE TABLE schema (version INTEGER NOT NULL) STRICT;
INSERT INTO schema VALUES (1);

CREATE TABLE workspace (one INTEGER PRIMARY KEY CHECK (one = 1), alarm_at INTEGER, record TEXT) STRICT;
INSERT INTO workspace VALUES (1, 1795143600000,
  '{"sandboxId":"agent-42","rootId":"agent-42","policy":{"expirationSeconds":3600},"keys":[]}');

CREATE TABLE snapshots (
  snapshot_id TEXT PRIMARY KEY, label TEXT NOT NULL, state TEXT NOT NULL, created_at INTEGER NOT NULL,
  expires_at INTEGER, ended_at INTEGER, record TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX snapshots_by_label ON snapshots (label) WHERE state <> 'deleted';
CREATE INDEX snapshots_by_age ON snapshots (created_at, snapshot_id) WHERE state <> 'deleted';
INSERT INTO snapshots VALUES
  ('snap-0000000000000001', 'ready', 'ready', 1795140000000, 1795143600000, NULL,
   '{"snapshotId":"snap-0000000000000001","label":"ready","dir":"/workspace","beganAt":"2026-11-20T02:00:00.000Z",
     "lastUsedAt":"2026-11-20T02:00:00.000Z","expiresAt":"2026-11-20T03:00:00.000Z",
     "stage":{"ready":{"stored":{"backup":{"id":"b-1","dir":"/workspace"},"createdAt":"2026-11-20T02:00:00.000Z",
       "sizeBytes":4096,"usableUntil":"2026-11-23T02:00:00.000Z","checkedAt":"2026-11-20T02:00:00.000Z"}}}}'),
  ('snap-0000000000000002', 'making', 'making', 1795140060000, NULL, NULL,
   '{"snapshotId":"snap-0000000000000002","label":"making","dir":"/workspace","beganAt":"2026-11-20T02:01:00.000Z",
     "lastUsedAt":"2026-11-20T02:01:00.000Z",
     "stage":{"making":{"sighting":{"since":"2026-11-20T02:01:00.000Z","lastChange":1795140060000.0},
       "loose":{"due":"2026-11-20T02:06:00.000Z","tries":0}}}}'),
  ('snap-0000000000000003', 'ready', 'deleted', 1795136400000, NULL, 1795140000000,
   '{"snapshotId":"snap-0000000000000003","label":"ready","dir":"/workspace","beganAt":"2026-11-20T01:00:00.000Z",
     "lastUsedAt":"2026-11-20T01:00:00.000Z",
     "stage":{"deleted":{"stored":{"backup":{"id":"b-3","dir":"/workspace"},"createdAt":"2026-11-20T01:00:00.000Z",
       "sizeBytes":4096,"usableUntil":"2026-11-23T01:00:00.000Z","checkedAt":"2026-11-20T01:00:00.000Z"},
       "end":{"at":"2026-11-20T02:00:00.000Z","reason":"expired"}}}}');

CREATE TABLE derivations (
  sandbox_id TEXT PRIMARY KEY, snapshot_id TEXT NOT NULL, settled INTEGER NOT NULL, record TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX derivations_by_snapshot ON derivations (snapshot_id);
INSERT INTO derivations VALUES
  ('agent-42-branch-k3f9x2ab', 'snap-0000000000000001', 0,
   '{"sandboxId":"agent-42-branch-k3f9x2ab","snapshotId":"snap-0000000000000001","lineage":"branch",
     "beganAt":"2026-11-20T02:02:00.000Z","state":{"pending":{"due":"2026-11-20T02:07:00.000Z","tries":0}}}');

CREATE TABLE requests (
  key TEXT PRIMARY KEY, asked_at INTEGER NOT NULL, answered INTEGER NOT NULL, record TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO requests VALUES
  ('asked', 1795140000000, 0, '{"key":"asked","payload":"00","at":"2026-11-20T02:00:00.000Z"}'),
  ('answered', 1795140000000, 1, '{"key":"answered","payload":"00","at":"2026-11-20T02:00:00.000Z","answer":{}}');

CREATE TABLE releases (snapshot_id TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO releases VALUES
  ('snap-0000000000000009', '{"originId":"agent","snapshotId":"snap-0000000000000009",
    "loose":{"due":"2026-11-20T02:00:00.000Z","tries":1}}');
