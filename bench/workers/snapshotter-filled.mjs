// The snapshotter's Worker, with methods that fill ledgers with copies of a snapshot and that run alarms at once.

import Snapshotter, { Workspace as Real } from '../../src/entry.mjs';

export { ContainerProxy, Directory, NamedWorkspace, Sandbox } from '../../src/entry.mjs';

/** Copies a snapshot. Each copy is one second older than the previous one, and has its own label, id and backup. */
const FILL = `
  WITH RECURSIVE numbers (n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ?1 + ?2),
  model AS (SELECT * FROM snapshots WHERE state = 'ready' ORDER BY created_at DESC LIMIT 1),
  copies AS (
    SELECT printf('snap-%016d', n) AS id, printf('copy-%d', n) AS label, created_at - ?3 - n * 1000 AS at,
           printf('00000000-0000-4000-8000-%012d', n) AS backup, expires_at - ?3 - n * 1000 AS expires_at, record
    FROM numbers, model
  ),
  dated AS (SELECT *, strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch') AS time FROM copies)
  INSERT INTO snapshots (snapshot_id, label, state, created_at, expires_at, ended_at, record)
  SELECT id, label, 'ready', at, expires_at, NULL,
         json_set(record, '$.snapshotId', id, '$.label', label, '$.beganAt', time, '$.lastUsedAt', time,
                  '$.stage.ready.stored.createdAt', time, '$.stage.ready.stored.backup.id', backup)
  FROM dated`;

export class Workspace extends Real {
  fill(from, count, older) {
    this.ctx.storage.sql.exec(FILL, from, count, older);
  }

  /** Deletes the rows of deleted snapshots, so that each run starts from the same ledger. */
  deleteTombstones() {
    this.ctx.storage.sql.exec(`DELETE FROM snapshots WHERE state = 'deleted'`);
  }

  runAlarm() {
    return this.alarm();
  }

  count(state) {
    return this.ctx.storage.sql.exec('SELECT count(*) AS n FROM snapshots WHERE state = ?', state).one().n;
  }
}

export default class extends Snapshotter {
  /** Calls one of these methods of a sandbox's Workspace object. */
  async callWorkspace({ sandboxId, method, list = [] }) {
    return this.env.Workspace.getByName(sandboxId)[method](...list);
  }
}
