import { answerLost, invalidArgument, rpcUnsupported, unreachable, unsendable } from '../failures.ts';
import type { Download } from '../downloads.ts';
import { asSnapshotterError } from '../recognize.ts';
import type { Call, Transport } from './transport.ts';

/** How to correct `env.SNAPSHOTTER` without a binding of that name. */
const BIND =
  'Add [[services]] to its wrangler.toml, with `service = "sandbox-snapshotter"` and the name of the binding, and pass that ' +
  'property of `env`.';

/**
 * Creates a transport over the RPC methods of a service binding: the operation `workspaces/create` is the method
 * `binding['workspaces/create'](options)`.
 *
 * A signal is passed to the snapshotter if this Worker has the compatibility flag `enable_abortsignal_rpc`. Otherwise, and over
 * the registry of `wrangler dev`, it only ends the wait of the caller.
 *
 * @throws INVALID_ARGUMENT if there is no binding.
 */
export function rpc(binding: object): Required<Transport> {
  if (binding === undefined || binding === null)
    throw invalidArgument('The service binding is missing: `env` of this Worker has no such binding.', BIND);
  let takesSignals = true;

  async function invoke({ operation, options: given, input, signal }: Call): Promise<unknown> {
    // Only the body of a response is a stream of bytes, as RPC requires.
    const stream = input instanceof Uint8Array ? new Response(input as Uint8Array<ArrayBuffer>).body : input;
    const options = stream ? { ...given, content: stream } : given;
    const call = (binding as Record<string, unknown>)[operation];
    if (typeof call !== 'function') throw rpcUnsupported(operation);
    return withSignal(call, options, signal);
  }

  /** Calls a method, with the signal if it can be passed. */
  async function withSignal(
    call: Function,
    options: object,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    if (signal && takesSignals) {
      try {
        return await Reflect.apply(call, binding, [{ ...options, signal }]);
      } catch (thrown) {
        if (!isUnpassedSignal(thrown)) throw thrown;
        takesSignals = false; // The call did not reach the snapshotter.
      }
    }
    return Reflect.apply(call, binding, [options]);
  }

  return {
    async open({ download, options }) {
      const call = (binding as Record<string, unknown>)[download];
      if (typeof call !== 'function') throw rpcUnsupported(download);
      try {
        return (await Reflect.apply(call, binding, [options])) as Download;
      } catch (thrown) {
        throw toError(thrown, { operation: download, repeatable: true });
      }
    },

    async openExec({ options, input, signal }) {
      const open = (binding as Record<string, unknown>)['execStream'];
      const failed: Call = { operation: 'exec', options, repeatable: false };
      if (typeof open !== 'function') throw rpcUnsupported('execStream');
      const given = { ...options, ...(input && { stdin: input }) };
      try {
        return (await withSignal(open, given, signal)) as ReadableStream<Uint8Array>;
      } catch (thrown) {
        throw toError(thrown, failed);
      }
    },
    async send(call) {
      try {
        return await invoke(call);
      } catch (thrown) {
        throw toError(thrown, call);
      }
    },
  };
}

/** Returns whether the options could not be serialized. The call was not sent. */
function isUncloneable(thrown: unknown): thrown is Error {
  return thrown instanceof Error && thrown.name === 'DataCloneError' && !('remote' in thrown);
}

/** Returns whether a signal could not be passed: by this Worker, or by the proxy of `wrangler dev` between it and the snapshotter. */
function isUnpassedSignal(thrown: unknown): boolean {
  const message = thrown instanceof Error ? thrown.message : '';
  return (
    message.includes('AbortSignal serialization') ||
    (isUncloneable(thrown) && message.includes('AbortSignal'))
  );
}

/** Matches the error of `wrangler dev` for a Worker that does not run on this machine. */
const NOT_STARTED = /^Worker "[^"]*" not found\b/;

/** Matches the error of workerd for a missing method, or for a Worker without RPC. */
const NOT_A_METHOD = /does not implement the method|does not support RPC/;

function toError(thrown: unknown, { operation, repeatable }: { operation: string; repeatable: boolean }) {
  const known = asSnapshotterError(thrown);
  if (known) return known;
  if (isUncloneable(thrown)) return unsendable(thrown);
  if (thrown instanceof TypeError && NOT_A_METHOD.test(thrown.message))
    return rpcUnsupported(operation, thrown);
  if (thrown instanceof Error && NOT_STARTED.test(thrown.message)) return unreachable('the binding', thrown);
  return answerLost(thrown, repeatable);
}
