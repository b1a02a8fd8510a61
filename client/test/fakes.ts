// Fake transports and errors.

import assert from 'node:assert/strict';

import {
  SnapshotterClient,
  SnapshotterError,
  type Call,
  type ClientOptions,
  type Transport,
} from '../src/index.ts';

/** An error as it arrives over RPC between Workers with a current compatibility date. */
export function rpcError(code: string, kind: string, retryable = false): Error {
  const [message, remediation] = ['The call failed.', 'Change the call.'];
  const error = new Error(`${code}: ${message} → ${remediation}`);
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
  const [message, remediation] = ['The call failed.', 'Change the call.'];
  const type = `urn:sandbox-snapshotter:error:${code}`;
  return { type, title: 'x', status: 500, detail: message, code, kind, message, remediation, retryable };
}

/** The outcome of a call: an answer, an error to throw, or a function that returns the answer. */
type Outcome = unknown;

/** Returns a function with these outcomes, one per call. The last one repeats. */
export function inSequence<T>(outcomes: Outcome[]): (call: T) => Promise<unknown> {
  let index = 0;
  return async (call) => {
    const outcome = outcomes[Math.min(index++, outcomes.length - 1)];
    if (outcome instanceof Error) throw outcome;
    return typeof outcome === 'function' ? await outcome(call) : outcome;
  };
}

/** A fake transport that records its calls. */
export class FakeTransport implements Transport {
  readonly calls: Call[] = [];
  readonly #next: (call: Call) => Promise<unknown>;

  constructor(...outcomes: Outcome[]) {
    this.#next = inSequence(outcomes);
  }

  send(call: Call) {
    this.calls.push(call);
    return this.#next(call);
  }

  /** The operations and options of the recorded calls. */
  get sent() {
    return this.calls.map(({ operation, options }) => [operation, options]);
  }
}

/** A client that records its delays instead of waiting, and whose keys are `key-1`, `key-2`… */
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

/** Returns the error of a call that must fail. */
export async function failure(call: Promise<unknown>): Promise<SnapshotterError> {
  try {
    await call;
  } catch (error) {
    assert.ok(error instanceof SnapshotterError, String(error));
    return error;
  }
  throw new assert.AssertionError({ message: 'the call should have failed' });
}

/** An outcome that never settles. */
export const never = () => new Promise<never>(() => undefined);
