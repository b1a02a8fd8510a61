import { answerLost, rpcUnsupported, unsendable } from '../failures.ts';
import { asSnapshotterError } from '../recognize.ts';
import type { Call, Transport } from './transport.ts';

/**
 * Creates a transport over the RPC methods of a service binding: the operation `workspaces/create` is the method
 * `binding['workspaces/create'](options)`.
 *
 * A signal is passed to the snapshotter if this Worker has the compatibility flag `enable_abortsignal_rpc`. Otherwise it
 * only ends the wait of the caller.
 */
export function rpc(binding: object): Transport {
  let takesSignals = true;

  async function invoke({ operation, options, signal }: Call): Promise<unknown> {
    const call = (binding as Record<string, unknown>)[operation];
    if (typeof call !== 'function') throw rpcUnsupported(operation);
    if (signal && takesSignals) {
      try {
        return await Reflect.apply(call, binding, [{ ...options, signal }]);
      } catch (thrown) {
        if (!(isUncloneable(thrown) && thrown.message.includes('AbortSignal'))) throw thrown;
        takesSignals = false; // The call was not sent.
      }
    }
    return Reflect.apply(call, binding, [options]);
  }

  return {
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

/** Matches the error of workerd for a missing method, or for a Worker without RPC. */
const NOT_A_METHOD = /does not implement the method|does not support RPC/;

function toError(thrown: unknown, { operation, repeatable }: Call) {
  const known = asSnapshotterError(thrown);
  if (known) return known;
  if (isUncloneable(thrown)) return unsendable(thrown);
  if (thrown instanceof TypeError && NOT_A_METHOD.test(thrown.message))
    return rpcUnsupported(operation, thrown);
  return answerLost(thrown, repeatable);
}
