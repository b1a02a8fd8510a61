// Remediations for users of the console: those of the Worker name methods and options, and not buttons.

import type { SnapshotterError } from '../../../client/src/index.ts';

const REMEDIATIONS: Record<string, string> = {
  LABEL_TAKEN: 'Use another label, or select “Take the label from another snapshot”.',
  NAME_TAKEN: 'Use another name, or delete the workspace that has this name.',
  NOTHING_RESTORABLE: 'Press Start: the console then offers to start it without files.',
  PERMISSION_MISSING: 'Sign in with another token. An administrator creates one under “Access tokens”.',
  SNAPSHOT_HAS_DEPENDENTS:
    'Unpin it, take a snapshot of each sandbox that depends on it, and start the workspace whose files it has. Or delete it anyway.',
  SNAPSHOT_NOT_FOUND: 'Select another snapshot.',
  SNAPSHOT_STALE:
    'Press Start: the console then offers to start it anyway. Or roll it back to another snapshot.',
  WORKSPACE_DIVERGED: 'Start or check the workspace: the console then offers what to do with these files.',
  WORKSPACE_NOT_FOUND: 'Create it, or select another one in the list of workspaces.',
};

/** Returns the remediation of a failure. */
export function remediationOf({ code, remediation }: Pick<SnapshotterError, 'code' | 'remediation'>): string {
  const [suggestion] = /Did you mean [^?]+\?/.exec(remediation) ?? [];
  const own = REMEDIATIONS[code];
  return own === undefined ? remediation : [suggestion, own].filter((text) => text !== undefined).join(' ');
}
