// The search of a snapshot by its label in the sandboxes of a workspace.

import type { SnapshotterClient } from './client.ts';
import { NotFoundError } from './errors.ts';
import { snapshotNotFound } from './failures.ts';
import type { Summary, Workspace } from './types.ts';

/** The number of labels that the error of an unknown label names, and of sandboxes that are searched for them. */
const SUGGESTED = 5;

/** The word for the newest snapshot of the present files. */
const LATEST = 'latest';

/** Returns whether a text has the form of a short ref. */
export function isShortRef(text: string): boolean {
  return text.startsWith('snap_');
}

/** Returns whether a text is a label: it has neither the form of an id nor that of a short ref. */
export function isLabel(text: string): boolean {
  return !isShortRef(text) && !/^snap-[a-z0-9]{16}$/.test(text);
}

/**
 * Finds the snapshot of a workspace with a label, and returns its id. A label is unique in a sandbox; of the snapshots of several
 * sandboxes that have it, the newest one is meant. A capture in progress gets the label once it is complete. If none has the label
 * `latest`, it is the newest snapshot of the present files.
 */
export async function findByLabel(
  client: SnapshotterClient,
  workspace: Workspace,
  label: string,
): Promise<string> {
  const { name, sandboxId, formerSandboxIds } = workspace;
  const sandboxes = [sandboxId, ...formerSandboxIds];
  const searches = sandboxes.map((id) => client.get({ sandboxId: id, label }).catch(undefinedIfMissing));
  const found = (await Promise.all(searches)).filter((summary) => summary !== undefined);
  const ready = found.filter(isReady);
  const [first, ...others] = ready.length > 0 ? ready : found;
  const latest = !first && label === LATEST ? await latestOf(client, workspace) : undefined;
  if (latest !== undefined) return latest;
  if (!first) throw snapshotNotFound(name, label, await newestLabels(client, sandboxes));
  // Of equally old ones, the one of the newest sandbox.
  return others.reduce((newest, other) => (other.createdAt > newest.createdAt ? other : newest), first)
    .snapshotId;
}

/** Returns the newest snapshot of the present sandbox. If it has none yet, returns the one that it was restored from. */
async function latestOf(
  client: SnapshotterClient,
  { sandboxId, restoredFrom }: Workspace,
): Promise<string | undefined> {
  const { snapshots } = await client.list({ sandboxId, limit: SUGGESTED, check: false });
  return snapshots.find(isReady)?.snapshotId ?? restoredFrom?.snapshotId;
}

function isReady({ state }: Summary): boolean {
  return state === 'ready';
}

/** Returns the labels of the newest snapshots of the latest sandboxes of a workspace, for the text of an error. */
async function newestLabels(client: SnapshotterClient, sandboxes: string[]): Promise<string[]> {
  const labelsOf = async (sandboxId: string) => {
    const page = await client.list({ sandboxId, limit: SUGGESTED, check: false }).catch(() => undefined);
    return page?.snapshots?.map(({ label }) => label) ?? [];
  };
  const labels = await Promise.all(sandboxes.slice(0, SUGGESTED).map(labelsOf));
  return [...new Set(labels.flat())].slice(0, SUGGESTED);
}

function undefinedIfMissing(thrown: unknown): undefined {
  if (thrown instanceof NotFoundError && thrown.code === 'SNAPSHOT_NOT_FOUND') return undefined;
  throw thrown;
}
