// Idempotency keys: a repeated call with the same key gets the same answer.

import { createHash } from 'node:crypto';

import { SnapshotterError } from './errors.ts';
import type { Workspace } from './workspace.ts';

/** The delay after which the alarm reconciles unfinished calls, in milliseconds. */
const RECONCILE_DELAY = 60_000;

/** The record of a call with a key. */
interface CallRecord {
  payload: string;
  answer: string | null;
}

/** Runs the calls with a key. */
export class Idempotency {
  #workspace: Workspace;
  #inFlight = new Map<string, Promise<unknown>>();

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  /** Runs the work once for all calls with the same key, or always without a key. A failed call can be repeated. */
  async runOnce<T>(
    operation: string,
    request: { idempotencyKey?: string },
    work: () => Promise<T>,
  ): Promise<T> {
    const { idempotencyKey: key, ...rest } = request;
    if (key === undefined) return work();
    this.#workspace.ensureInitialized();
    const { ledger } = this.#workspace;
    const payload = createHash('sha256')
      .update(JSON.stringify([operation, rest]))
      .digest('base64url');
    await this.#inFlight.get(key)?.catch(() => {});
    const record = ledger.first<CallRecord>('SELECT payload, answer FROM requests WHERE key = ?', key);
    if (record && record.payload !== payload)
      throw new SnapshotterError(
        'IDEMPOTENCY_CONFLICT',
        'The idempotency key was used for another call.',
        'Use another key.',
      );
    if (record?.answer) return JSON.parse(record.answer) as T;
    ledger.rows('INSERT OR REPLACE INTO requests VALUES (?, ?, NULL, ?)', key, payload, Date.now());
    ledger.scheduleAlarm(Date.now() + RECONCILE_DELAY);
    const outcome = work();
    this.#inFlight.set(key, outcome);
    try {
      const answer = await outcome;
      ledger.rows('UPDATE requests SET answer = ? WHERE key = ?', JSON.stringify(answer), key);
      return answer;
    } catch (error) {
      ledger.rows('DELETE FROM requests WHERE key = ?', key);
      throw error;
    } finally {
      this.#inFlight.delete(key);
    }
  }
}
