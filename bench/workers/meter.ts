// Counts what Cloudflare bills, where it leaves the code of a Worker: calls of Durable Objects, of R2, and of storage.
// Each Worker has one of its own, since isolates share nothing.

import type { Counts, Span } from './steps.ts';

type Method = (...list: any[]) => any;

const cursors: { rowsRead: number; rowsWritten: number }[] = [];
const underway = new Set<Promise<unknown>>();
let counts = none();

function none(): Counts {
  return { requests: 0, rowsRead: 0, rowsWritten: 0, classA: 0, classB: 0, subrequests: 0, spans: [] };
}

/** Answers what was counted since this was asked last. */
export function take(): Counts {
  const taken = counts;
  for (const cursor of cursors.splice(0)) {
    taken.rowsRead += cursor.rowsRead;
    taken.rowsWritten += cursor.rowsWritten;
  }
  counts = none();
  return taken;
}

/** Resolves when no call is under way that is counted. */
export async function settled() {
  while (underway.size > 0) await Promise.all(underway);
}

/** The bindings of a Worker, each of which is counted. */
export function metered<Env extends object>(env: Env): Env {
  const entries = Object.entries(env).map(([name, binding]: [string, any]) => {
    switch (binding?.constructor?.name) {
      case 'DurableObjectNamespace':
        return [name, namespace(binding, name)];
      case 'R2Bucket':
        return [name, bucket(binding)];
      default:
        return [name, binding];
    }
  });
  return Object.fromEntries(entries);
}

/** Counts the rows of an object's storage, from now on. A value by its key is a row of a hidden table. */
export function meter({ storage }: DurableObjectState) {
  const { sql, kv } = storage as any;
  const exec = sql.exec.bind(sql);
  sql.exec = (...list: any[]) => {
    const cursor = exec(...list);
    cursors.push(cursor);
    return cursor;
  };
  for (const keys of [storage, kv] as any[]) {
    before(keys, 'get', (key) => (counts.rowsRead += many(key)));
    before(keys, 'put', (key) => (counts.rowsWritten += many(key)));
    before(keys, 'delete', (key) => (counts.rowsWritten += many(key)));
    before(keys, 'list', () => (counts.rowsRead += 1));
  }
  before(storage, 'setAlarm', () => (counts.rowsWritten += 1));
  before(storage, 'deleteAlarm', () => (counts.rowsWritten += 1));
}

/** How many keys an argument stands for: a key, a list of keys, or values by their keys. */
function many(key: unknown) {
  return typeof key === 'object' && key !== null ? Object.keys(key).length : 1;
}

function before(object: any, name: string, count: (key: unknown) => void) {
  const method = object[name].bind(object);
  object[name] = (...list: unknown[]) => {
    count(list[0]);
    return method(...list);
  };
}

/** An object of which `wrap` may replace the methods. */
function proxy<T extends object>(object: T, wrap: (method: Method, name: string) => Method): T {
  return new Proxy(object, {
    get(target, key) {
      const value = Reflect.get(target, key);
      if (typeof value !== 'function' || key === 'constructor' || typeof key === 'symbol') return value;
      return wrap((...list) => (target as any)[key](...list), key);
    },
  });
}

function namespace(object: object, binding: string) {
  return proxy(object, (method, name) => {
    if (name !== 'get' && name !== 'getByName') return method;
    return (...list) => stub(method(...list), binding);
  });
}

function stub(object: object, binding: string) {
  return proxy(object, (method, name) => (...list) => {
    counts.requests += 1;
    return asked(`${binding}.${name}`, method, list);
  });
}

function bucket(object: object) {
  return proxy(object, (method, name) => (...list) => {
    if (name === 'put' || name === 'list') counts.classA += 1;
    if (name === 'get' || name === 'head') counts.classB += 1;
    return asked(`R2.${name}`, method, list);
  });
}

/** Notes a call of another place. */
function asked(call: string, method: Method, list: unknown[]) {
  counts.subrequests += 1;
  const span: Span = { call, began: Date.now() };
  counts.spans.push(span);
  const answer = method(...list);
  const end = () => {
    span.ended = Date.now();
    underway.delete(ended);
  };
  const ended: Promise<void> = answer.then(end, end);
  underway.add(ended);
  return answer;
}
