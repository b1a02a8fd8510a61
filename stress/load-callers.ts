// Hundreds of concurrent callers: Durable Objects over RPC, and programs over HTTP.

import { TOKEN, type World } from '../miniflare-tests/world.ts';

/** The error of a call, with the members that every error of the snapshotter has. */
export interface Refusal {
  code: string;
  kind: string;
  message: string;
  remediation: string;
  retryable: boolean;
  correlationId: string;
  /** The HTTP status. Absent over RPC. */
  status?: number;
}

/** The outcome of a call, and its latency in milliseconds. */
export type Outcome = { ms: number } & (
  { value: any; refusal?: never } | { value?: never; refusal: Refusal }
);

/** Calls an operation as one of the callers. */
export type Caller = (operation: string, options: unknown) => Promise<unknown>;

/** The number of Durable Objects that call over RPC. */
const OBJECTS = 50;

/** Creates callers of a world that listens on a port. Every second caller uses HTTP. */
export async function callers(world: World, count: number): Promise<Caller[]> {
  const base = await world.url('/v1/');
  return Array.from({ length: count }, (_, number) =>
    number % 2 ? httpCaller(base) : rpcCaller(world, `caller-${number % OBJECTS}`),
  );
}

/** Starts a call of every caller, without waiting for them. */
export function startCalls(
  callers: Caller[],
  call: (caller: Caller, number: number) => Promise<unknown>,
): ConcurrentCalls {
  const answered: Outcome[] = [];
  const began = performance.now();
  const all = callers.map(async (caller, number) => {
    const outcome = await call(caller, number).then(
      (value) => ({ value, ms: performance.now() - began }),
      (thrown) => ({ refusal: thrown as Refusal, ms: performance.now() - began }),
    );
    answered.push(outcome);
    return outcome;
  });
  return { answered, all: Promise.all(all) };
}

/** Concurrent calls. */
export interface ConcurrentCalls {
  /** The outcomes so far, in the order of the answers. */
  readonly answered: Outcome[];
  /** All outcomes, in the order of the callers. */
  readonly all: Promise<Outcome[]>;
}

/** Creates a caller that is a Durable Object and calls over RPC. */
function rpcCaller(world: World, object: string): Caller {
  return async (method, options) => {
    const { value, error } = await world.runStep({ do: 'rpc', method, options }, object);
    if (error) throw error;
    return value;
  };
}

/** Creates a caller that calls over HTTP. */
function httpCaller(base: URL): Caller {
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  return async (operation, options) => {
    const init = { method: 'POST', headers, body: JSON.stringify(options) };
    const response = await fetch(new URL(operation, base), init);
    const body = (await response.json()) as object;
    if (!response.ok) throw { ...body, status: response.status };
    return body;
  };
}
