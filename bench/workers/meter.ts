// Counts the billed usage of a Worker: calls of Durable Objects, of R2 and of storage. Each Worker has its own meter, because
// isolates share no memory.

import type { Counts, Span } from './steps.ts';

type Method = (...list: any[]) => any;

const cursors: { rowsRead: number; rowsWritten: number }[] = [];
const pending = new Set<Promise<unknown>>();
let counts = none();

function none(): Counts {
  return { requests: 0, rowsRead: 0, rowsWritten: 0, classA: 0, classB: 0, subrequests: 0, spans: [] };
}

/** Returns the counts since the last call. */
export function takeCounts(): Counts {
  const taken = counts;
  for (const cursor of cursors.splice(0)) {
    taken.rowsRead += cursor.rowsRead;
    taken.rowsWritten += cursor.rowsWritten;
  }
  counts = none();
  return taken;
}

/** Waits until no counted call is pending. */
export async function drain() {
  while (pending.size > 0) await Promise.all(pending);
}

/** Wraps the bindings of a Worker, so that their calls are counted. */
export function meteredEnv<Env extends object>(env: Env): Env {
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

/** Counts the rows of an object's storage from now on. A key-value pair is a row of a hidden table. */
export function meterStorage({ storage }: DurableObjectState) {
  const { sql, kv } = storage as any;
  const exec = sql.exec.bind(sql);
  sql.exec = (...list: any[]) => {
    const cursor = exec(...list);
    cursors.push(cursor);
    return cursor;
  };
  for (const keys of [storage, kv] as any[]) {
    before(keys, 'get', (key) => (counts.rowsRead += keyCount(key)));
    before(keys, 'put', (key) => (counts.rowsWritten += keyCount(key)));
    before(keys, 'delete', (key) => (counts.rowsWritten += keyCount(key)));
    before(keys, 'list', () => (counts.rowsRead += 1));
  }
  before(storage, 'setAlarm', () => (counts.rowsWritten += 1));
  before(storage, 'deleteAlarm', () => (counts.rowsWritten += 1));
}

/** The number of keys in an argument: a key, a list of keys, or an object of values by key. */
function keyCount(key: unknown) {
  return typeof key === 'object' && key !== null ? Object.keys(key).length : 1;
}

function before(object: any, name: string, count: (key: unknown) => void) {
  const method = object[name].bind(object);
  object[name] = (...list: unknown[]) => {
    count(list[0]);
    return method(...list);
  };
}

/** Wraps the methods of an object. */
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
    return recordCall(`${binding}.${name}`, method, list);
  });
}

function bucket(object: object) {
  return proxy(object, (method, name) => (...list) => {
    if (name === 'put' || name === 'list') counts.classA += 1;
    if (name === 'get' || name === 'head') counts.classB += 1;
    return recordCall(`R2.${name}`, method, list);
  });
}

/** Records a call that leaves the Worker. */
function recordCall(call: string, method: Method, list: unknown[]) {
  counts.subrequests += 1;
  const span: Span = { call, began: Date.now() };
  counts.spans.push(span);
  const answer = method(...list);
  const end = () => {
    span.ended = Date.now();
    pending.delete(ended);
  };
  const ended: Promise<void> = answer.then(end, end);
  pending.add(ended);
  return answer;
}
