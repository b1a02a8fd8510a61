// Hundreds of callers at the same time: Durable Objects over RPC, and programs over HTTP.

import { TOKEN, type World } from '../miniflare-tests/world.ts';

/** How a call failed: the members that every error of the snapshotter has. */
export interface Refusal {
  code: string;
  kind: string;
  message: string;
  remediation: string;
  retryable: boolean;
  correlationId: string;
  /** Over HTTP alone. */
  status?: number;
}

/** What came of a call, and after how many milliseconds. */
export type Outcome = { ms: number } & (
  { value: any; refusal?: never } | { value?: never; refusal: Refusal }
);

/** Calls an operation, as one of many callers. */
export type Caller = (operation: string, options: unknown) => Promise<unknown>;

/** How many Durable Objects the calls over RPC come from. */
const OBJECTS = 50;

/** The callers of a world that listens on a port: every other one over HTTP. */
export async function callers(world: World, count: number): Promise<Caller[]> {
  const base = await world.url('/v1/');
  return Array.from({ length: count }, (_, number) =>
    number % 2 ? over(base) : from(world, `caller-${number % OBJECTS}`),
  );
}

/** Has every caller make its call, and waits for none of them: what came of each is known when it is answered. */
export function crowd(callers: Caller[], call: (caller: Caller, number: number) => Promise<unknown>): Crowd {
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

/** Calls that are under way. */
export interface Crowd {
  /** What came of those that are answered, in the order of their answers. */
  readonly answered: Outcome[];
  /** What came of all, in the order of the callers. */
  readonly all: Promise<Outcome[]>;
}

/** A Durable Object that calls over RPC. */
function from(world: World, object: string): Caller {
  return async (method, options) => {
    const { value, error } = await world.perform({ do: 'rpc', method, options }, object);
    if (error) throw error;
    return value;
  };
}

/** A program that calls over HTTP, by a connection of its own. */
function over(base: URL): Caller {
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  return async (operation, options) => {
    const init = { method: 'POST', headers, body: JSON.stringify(options) };
    const response = await fetch(new URL(operation, base), init);
    const body = (await response.json()) as object;
    if (!response.ok) throw { ...body, status: response.status };
    return body;
  };
}
