import { requireOptions } from '../argument-checks.ts';
import type { SnapshotterError } from '../errors.ts';
import { http } from './http.ts';
import { rpc } from './rpc.ts';
import type { Call, Transport } from './transport.ts';

/** A service binding to the snapshotter: a `Fetcher`. */
export interface Binding {
  fetch(url: string, init?: RequestInit): Promise<Response>;
}

/** The options of the transport over a service binding. */
export interface ServiceOptions {
  /** The `API_TOKEN` of the deployment. With it, calls use the binding's `fetch` if RPC does not work. */
  token?: string | undefined;
  /** How long calls avoid RPC after it failed, in milliseconds; 60 000 if absent. */
  avoidMs?: number;
  /** Returns the time, in milliseconds. */
  now?: () => number;
}

/** The time until which calls avoid RPC, by binding. It is global, because clients may exist for one request only. */
const avoided = new WeakMap<object, number>();

/** The codes of failures of RPC itself. Any other error is an answer of the snapshotter. */
const RPC_FAILURES: ReadonlySet<string> = new Set(['RPC_UNSUPPORTED', 'ANSWER_LOST']);

/**
 * Creates a transport over a service binding. It uses RPC, and the binding's `fetch` if RPC does not work.
 *
 * A call whose answer was lost over RPC is repeated over `fetch` only if a second call has no effect beyond the first one.
 *
 * @throws INVALID_ARGUMENT if there is no binding, or if the token is invalid.
 *
 * @example
 * const snapshotter = new SnapshotterClient(service(this.env.SNAPSHOTTER));
 */
export function service(binding: Binding, options: ServiceOptions = {}): Transport {
  requireOptions('service()', options, () => '{ token: … } as the second argument, or none');
  const { token, avoidMs = 60_000, now = Date.now } = options;
  const overRpc = rpc(binding);
  if (token === undefined) return overRpc;
  // The binding determines the receiver, so the host has no effect.
  const fetch = (url: string, init: RequestInit) => binding.fetch(url, init);
  const overFetch = http({ url: 'https://snapshotter', token, fetch });

  /** Calls over RPC, or over `fetch` if RPC does not work. */
  async function call<T>(
    { signal, repeatable }: Pick<Call, 'signal' | 'repeatable'>,
    over: (transport: Required<Transport>) => Promise<T>,
  ): Promise<T> {
    if (now() < (avoided.get(binding) ?? 0)) return over(overFetch);
    try {
      return await over(overRpc);
    } catch (thrown) {
      const { code } = thrown as SnapshotterError;
      if (!RPC_FAILURES.has(code) || signal?.aborted) throw thrown;
      avoided.set(binding, now() + avoidMs);
      if (code === 'ANSWER_LOST' && !repeatable) throw thrown;
    }
    return over(overFetch);
  }

  return {
    send: (sent) => call(sent, (transport) => transport.send(sent)),
    open: (opened) =>
      call({ signal: opened.signal, repeatable: true }, (transport) => transport.open(opened)),
    openExec: (opened) =>
      call({ signal: opened.signal, repeatable: false }, (transport) => transport.openExec(opened)),
  };
}
