// What the tests call instead of a snapshotter.

import assert from 'node:assert/strict';

import {
  SnapshotterClient,
  SnapshotterError,
  type Call,
  type ClientOptions,
  type Transport,
} from '../src/index.ts';

/** An error as it arrives over RPC between Workers of today. */
export function thrown(code: string, kind: string, retryable = false): Error {
  const [message, remediation] = ['It went wrong.', 'Put it right.'];
  const error = new Error(`${code}: ${message} ${remediation}`);
  return Object.assign(error, {
    name: 'SnapshotterError',
    code,
    kind,
    remediation,
    retryable,
    correlationId: 'c0ffee',
    remote: true,
  });
}

/** The body of an error over HTTP. */
export function problem(code: string, kind: string, retryable = false) {
  const [message, remediation] = ['It went wrong.', 'Put it right.'];
  const type = `urn:sandbox-snapshotter:error:${code}`;
  return { type, title: 'x', status: 500, detail: message, code, kind, message, remediation, retryable };
}

/** What comes of a call: an answer, an error that is thrown, or what a function makes of it. */
type Outcome = unknown;

/** Makes the outcomes come true, one after the other. The last one stays. */
export function inTurn<T>(outcomes: Outcome[]): (call: T) => Promise<unknown> {
  let turn = 0;
  return async (call) => {
    const outcome = outcomes[Math.min(turn++, outcomes.length - 1)];
    if (outcome instanceof Error) throw outcome;
    return typeof outcome === 'function' ? await outcome(call) : outcome;
  };
}

/** A transport that remembers its calls. */
export class FakeTransport implements Transport {
  readonly calls: Call[] = [];
  readonly #next: (call: Call) => Promise<unknown>;

  constructor(...outcomes: Outcome[]) {
    this.#next = inTurn(outcomes);
  }

  send(call: Call) {
    this.calls.push(call);
    return this.#next(call);
  }

  /** What was asked for, in words and options. */
  get asked() {
    return this.calls.map(({ operation, options }) => [operation, options]);
  }
}

/** A client that waits for nothing, and whose keys are `key-1`, `key-2`… */
export function clientOver(transport: Transport, options: ClientOptions = {}) {
  const waits: number[] = [];
  let keys = 0;
  const retry = {
    random: () => 1,
    sleep: async (ms: number) => {
      waits.push(ms);
    },
  };
  const newKey = () => `key-${++keys}`;
  return { client: new SnapshotterClient(transport, { retry, newKey, ...options }), waits };
}

/** The error that a call fails with. */
export async function failure(call: Promise<unknown>): Promise<SnapshotterError> {
  try {
    await call;
  } catch (error) {
    assert.ok(error instanceof SnapshotterError, String(error));
    return error;
  }
  throw new assert.AssertionError({ message: 'the call should have failed' });
}

/** A call that never ends. */
export const never = () => new Promise<never>(() => undefined);
