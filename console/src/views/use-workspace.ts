// The named workspace that a page is about.

import { useEffect } from 'preact/hooks';

import type { Workspace } from '../../../client/src/index.ts';
import { useLive, type Live } from '../live.ts';
import type { Address } from '../routes.ts';
import { client } from '../session.ts';
import { currentValue } from '../ui/loaded.tsx';
import { namedWorkspace } from '../ui/named-workspace.ts';
import { useWorkspaceActions, type WorkspaceActions } from './workspace-actions.tsx';

/** A workspace, as its page uses it. */
interface WorkspacePage {
  live: Live<Workspace>;
  /** The workspace; undefined until it is read, and if it was not found since. */
  workspace: Workspace | undefined;
  actions: WorkspaceActions;
}

/** Reads a workspace while its page is open, names it in the texts of the page, and prepares the actions on it. */
export function useWorkspace(address: Address): WorkspacePage {
  const live = useLive(JSON.stringify(address), (options) =>
    client.workspaces.getByName({ ...address, ...options }),
  );
  const workspace = currentValue(live);
  const { name, sandboxId } = workspace ?? {};
  useEffect(() => {
    if (name && sandboxId) namedWorkspace.value = { name, sandboxId };
    return () => {
      namedWorkspace.value = undefined;
    };
  }, [name, sandboxId]);
  return { live, workspace, actions: useWorkspaceActions(address) };
}
