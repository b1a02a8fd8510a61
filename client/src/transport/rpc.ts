import { answerLost, rpcUnsupported, unsendable } from '../failures.ts';
import { asSnapshotterError } from '../recognize.ts';
import type { Call, Transport } from './transport.ts';

type Methods = Record<string, unknown>;

/**
 * Creates a transport over the RPC methods of a service binding: the operation `workspaces/create` is
 * `binding.workspaces.create(options)`.
 *
 * A signal is passed to the snapshotter if this Worker has the compatibility flag `enable_abortsignal_rpc`. Otherwise it
 * only ends the wait of the caller.
 */
export function rpc(binding: object): Transport {
  let takesSignals = true;

  async function invoke({ operation, options, signal }: Call): Promise<unknown> {
    const [method = '', group] = operation.split('/').reverse();
    // The methods of a stub must be called with the stub as `this`.
    const target = (group === undefined ? binding : (binding as Methods)[group]) as Methods | undefined;
    if (typeof target?.[method] !== 'function') throw rpcUnsupported(operation);
    const call = target[method] as (argument: object) => Promise<unknown>;
    if (signal && takesSignals) {
      try {
        return await Reflect.apply(call, target, [{ ...options, signal }]);
      } catch (thrown) {
        if (!(isUncloneable(thrown) && thrown.message.includes('AbortSignal'))) throw thrown;
        takesSignals = false; // The call was not sent.
      }
    }
    return Reflect.apply(call, target, [options]);
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
