// The log of the snapshotter, in short form for a terminal.

import type { StoppedWorkspace } from '../client/src/index.ts';

/**
 * Returns a line of a Worker's log as `npm run demo` and `npm run dev` print it; undefined for a line of the snapshotter that has
 * neither an outcome nor a message. A line of another Worker is returned as it is.
 */
export function formatLogLine(line: string): string | undefined {
  const logged = parse(line);
  if (logged === undefined) return line;
  const { event, outcome, durationMs, snapshotId, sandboxId, originId, name, message, code, cause } = logged;
  if (event === 'workspace.transition') return `  · ${name} is ${logged.to}: ${logged.cause}`;
  if (outcome === 'success') {
    const made = /^(restore|branch)$/.test(event) && sandboxId ? `into ${sandboxId}` : undefined;
    const subject = name ?? made ?? (snapshotId ? `${snapshotId} of ${originId}` : (sandboxId ?? originId));
    return `  · ${event}${subject === undefined ? '' : ` ${subject}`}: ${durationMs} ms`;
  }
  const reason = message ?? ([code, cause?.message ?? cause?.name].filter(Boolean).join(': ') || undefined);
  return reason && `  · ${event} failed: ${reason}`;
}

/** Returns the members of a line that the snapshotter logged; undefined for any other line. */
function parse(line: string): Record<string, any> | undefined {
  if (!line.startsWith('{"')) return undefined;
  try {
    const value = JSON.parse(line);
    return typeof value.event === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns whether the snapshotter logged a line. */
export function isOfSnapshotter(line: string): boolean {
  return parse(line) !== undefined;
}

/** Returns the address of the workspace that a line of the snapshotter is about; undefined for any other line. */
export function workspaceOf(line: string): { tenant: string; name: string } | undefined {
  const { tenant, name } = parse(line) ?? {};
  return tenant === undefined || name === undefined ? undefined : { tenant, name };
}

/** Returns whether a line is about a lookup that found no workspace. */
export function isMissing(line: string): boolean {
  const { event, code } = parse(line) ?? {};
  return event === 'workspaces/getByName' && code === 'WORKSPACE_NOT_FOUND';
}

/** Returns what the stop of a workspace made of its files. */
export function endOf(
  label: string,
  {
    persistent,
    hadEnded,
    rescueSnapshotId,
  }: Pick<StoppedWorkspace, 'persistent' | 'hadEnded' | 'rescueSnapshotId'>,
): string {
  if (rescueSnapshotId !== undefined) return `Saved ${label}.`;
  if (!persistent) return `Ended ${label}: it is not persistent, so its files are gone.`;
  return hadEnded
    ? `Ended ${label}: its sandbox had ended before, so files that were in no snapshot are gone.`
    : `Saved ${label}.`;
}
