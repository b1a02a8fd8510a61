import type { SnapshotterError } from '../errors.ts';
import { http } from './http.ts';
import { rpc } from './rpc.ts';
import type { Call, Transport } from './transport.ts';

/** A service binding to the snapshotter: a `Fetcher`. */
export interface Binding {
  fetch(url: string, init?: RequestInit): Promise<Response>;
}

/** How a service binding is called. */
export interface ServiceOptions {
  /** The `API_TOKEN` of the deployment: with it, calls go over the binding's `fetch` where RPC does not get through. */
  token?: string | undefined;
  /** For how long RPC is left alone after it did not get through, in milliseconds: 60 000 where absent. */
  avoidMs?: number;
  /** The time, in milliseconds. */
  now?: () => number;
}

/** Bindings whose RPC did not get through, and until when it is left alone. Clients come and go with each request. */
const avoided = new WeakMap<object, number>();

/** Codes that say that RPC did not get through. Any other error is the snapshotter's answer. */
const NOT_THROUGH: ReadonlySet<string> = new Set(['RPC_UNSUPPORTED', 'ANSWER_LOST']);

/**
 * Calls a service binding over RPC, and over its `fetch` where RPC does not get through.
 *
 * A call whose answer got lost over RPC is made over `fetch` only if making it twice does no more than making it once.
 *
 * @throws TypeError for a token that can't be used.
 */
export function service(binding: Binding, options: ServiceOptions = {}): Transport {
  const { token, avoidMs = 60_000, now = Date.now } = options;
  const first = rpc(binding);
  if (token === undefined) return first;
  // The host is of no account: the binding says who is asked.
  const fetch = (url: string, init: RequestInit) => binding.fetch(url, init);
  const second = http({ url: 'https://snapshotter', token, fetch });

  return {
    async send(call: Call) {
      if (now() < (avoided.get(binding) ?? 0)) return second.send(call);
      try {
        return await first.send(call);
      } catch (thrown) {
        const { code } = thrown as SnapshotterError;
        if (!NOT_THROUGH.has(code) || call.signal?.aborted) throw thrown;
        avoided.set(binding, now() + avoidMs);
        if (code === 'ANSWER_LOST' && !call.repeatable) throw thrown;
      }
      return second.send(call);
    },
  };
}
