/** Converts groups of functions to the objects that capnweb serves. */
import { RpcTarget } from 'capnweb';
import { SandboxError, toSandboxError } from './errors.ts';

/** The functions of one part of the API, such as `files`. */
export type Api = Record<string, (...args: any[]) => unknown>;

/** Runs before each call. If it throws, the call fails. */
export type Before = (method: string, args: unknown[]) => Promise<void> | undefined;

function target(members: PropertyDescriptorMap): RpcTarget {
  class Target extends RpcTarget {}
  Object.defineProperties(Target.prototype, members);
  return new Target();
}

/** Returns the main object of an RPC session, with one member per part of the API. */
export function serve(parts: Record<string, Api>, before: Before): RpcTarget {
  const members: PropertyDescriptorMap = {};
  for (const [part, api] of Object.entries(parts)) {
    const methods: PropertyDescriptorMap = {};
    for (const [name, run] of Object.entries(api)) {
      methods[name] = {
        value: async (...args: unknown[]) => {
          try {
            await before(`${part}.${name}`, args);
            return await run(...args);
          } catch (error) {
            throw toSandboxError(error);
          }
        },
      };
    }
    const served = target(methods);
    members[part] = { get: () => served };
  }
  return target(members);
}

/** Returns a part of the API whose methods fail because the engine lacks them. */
export function missing(part: string, methods: string[]): Api {
  const refuse = () => {
    throw new SandboxError('INTERNAL_ERROR', `sandbox ${part} is not part of the local engine`);
  };
  return Object.fromEntries(methods.map((method) => [method, refuse]));
}
