// The answers about workspaces, which are also handles.

import type { SnapshotterClient } from './client.ts';
import type { Answer } from './operations.ts';
import type { Fork, StartedWorkspace, WorkspaceEntry } from './types.ts';
import type { Address } from './workspace-address.ts';
import { WorkspaceHandle } from './workspace.ts';

/** An answer about a workspace, which is also its handle. */
export type WithHandle<A> = A & WorkspaceHandle;

/** The answer of a fork. The workspaces in it are also handles. */
export type ForksWithHandles = Omit<Answer<'workspaces/fork'>, 'forks'> & {
  forks: (Omit<Fork, 'value'> & { value?: WithHandle<StartedWorkspace> })[];
};

/** A page of workspaces, which are also handles. */
export type WorkspacesWithHandles = Omit<Answer<'workspaces/list'>, 'workspaces'> & {
  workspaces: WithHandle<WorkspaceEntry>[];
};

/**
 * Returns an answer about a workspace of `tenant` with the methods of its handle. It stays a plain object, whose enumerable
 * members are those of the answer: RPC and the storage of a Durable Object take no other ones.
 */
export function withHandle<A extends Address>(
  client: SnapshotterClient,
  answer: A,
  tenant = answer?.tenant,
): WithHandle<A> {
  // A Worker of another version could answer otherwise.
  if (typeof answer !== 'object' || answer === null) return answer as never;
  const handle = new WorkspaceHandle(client, { ...answer, ...(tenant && { tenant }) });
  return Object.defineProperties({ ...answer }, membersOf(handle)) as WithHandle<A>;
}

/** Returns the getters and the bound methods of a handle, as properties that are not enumerable. */
function membersOf(handle: WorkspaceHandle): PropertyDescriptorMap {
  const members = Object.entries(Object.getOwnPropertyDescriptors(WorkspaceHandle.prototype));
  const bound = members
    .filter(([name]) => name !== 'constructor')
    .map(([name, { value, get }]) => [
      name,
      get ? { get: get.bind(handle) } : { value: (value as () => unknown).bind(handle) },
    ]);
  return Object.fromEntries(bound) as PropertyDescriptorMap;
}
