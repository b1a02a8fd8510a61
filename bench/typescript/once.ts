// The same call, made again with the same idempotency key, gets the same answer.

import { createHash } from 'node:crypto';

import { SnapshotterError } from './errors.ts';
import type { Workspace } from './workspace.ts';

/** When a call that nobody works on is followed up, in milliseconds. */
const FOLLOWED_UP = 60_000;

interface Known {
  payload: string;
  answer: string | null;
}

/** The calls with a key. */
export class Once {
  #workspace: Workspace;
  #underway = new Map<string, Promise<unknown>>();

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  /** Does the work once for all calls with the key; always, where there is none. One that failed can be made again. */
  async do<T>(operation: string, request: { idempotencyKey?: string }, work: () => Promise<T>): Promise<T> {
    const { idempotencyKey: key, ...rest } = request;
    if (key === undefined) return work();
    this.#workspace.founded();
    const { ledger } = this.#workspace;
    const payload = createHash('sha256')
      .update(JSON.stringify([operation, rest]))
      .digest('base64url');
    await this.#underway.get(key)?.catch(() => {});
    const known = ledger.first<Known>('SELECT payload, answer FROM requests WHERE key = ?', key);
    if (known && known.payload !== payload)
      throw new SnapshotterError(
        'IDEMPOTENCY_CONFLICT',
        'The key was used for another call.',
        'Use another.',
      );
    if (known?.answer) return JSON.parse(known.answer) as T;
    ledger.rows('INSERT OR REPLACE INTO requests VALUES (?, ?, NULL, ?)', key, payload, Date.now());
    ledger.wakeBy(Date.now() + FOLLOWED_UP);
    const outcome = work();
    this.#underway.set(key, outcome);
    try {
      const answer = await outcome;
      ledger.rows('UPDATE requests SET answer = ? WHERE key = ?', JSON.stringify(answer), key);
      return answer;
    } catch (error) {
      ledger.rows('DELETE FROM requests WHERE key = ?', key);
      throw error;
    } finally {
      this.#underway.delete(key);
    }
  }
}
