import { answerLost, rpcUnsupported, unsendable } from '../failures.ts';
import { asSnapshotterError } from '../recognize.ts';
import type { Call, Transport } from './transport.ts';

type Methods = Record<string, unknown>;

/**
 * Calls the RPC methods of a service binding: the operation `workspaces/create` is `binding.workspaces.create(options)`.
 *
 * A signal is passed on where the compatibility flag `enable_abortsignal_rpc` lets it; elsewhere it ends the wait on this
 * side only.
 */
export function rpc(binding: object): Transport {
  let takesSignals = true;

  async function invoke({ operation, options, signal }: Call): Promise<unknown> {
    const [method = '', group] = operation.split('/').reverse();
    // A stub's methods know their stub only when they are called on it.
    const target = (group === undefined ? binding : (binding as Methods)[group]) as Methods | undefined;
    if (typeof target?.[method] !== 'function') throw rpcUnsupported(operation);
    const call = target[method] as (argument: object) => Promise<unknown>;
    if (signal && takesSignals) {
      try {
        return await Reflect.apply(call, target, [{ ...options, signal }]);
      } catch (thrown) {
        if (!(isUncloneable(thrown) && thrown.message.includes('AbortSignal'))) throw thrown;
        takesSignals = false; // Nothing was sent.
      }
    }
    return Reflect.apply(call, target, [options]);
  }

  return {
    async send(call) {
      try {
        return await invoke(call);
      } catch (thrown) {
        throw translated(thrown, call);
      }
    },
  };
}

/** What is thrown on this side before anything is sent. */
function isUncloneable(thrown: unknown): thrown is Error {
  return thrown instanceof Error && thrown.name === 'DataCloneError' && !('remote' in thrown);
}

/** What workerd throws where there is no such method, or no RPC at all on the other side. */
const NOT_A_METHOD = /does not implement the method|does not support RPC/;

function translated(thrown: unknown, { operation, repeatable }: Call) {
  const known = asSnapshotterError(thrown);
  if (known) return known;
  if (isUncloneable(thrown)) return unsendable(thrown);
  if (thrown instanceof TypeError && NOT_A_METHOD.test(thrown.message))
    return rpcUnsupported(operation, thrown);
  return answerLost(thrown, repeatable);
}
