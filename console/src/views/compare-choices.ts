// What a snapshot can be compared with: the present files of running sandboxes, and the other snapshots of the lineage.

import type { TreeSandbox, Workspace } from '../../../client/src/index.ts';
import { age, dateTime } from '../format.ts';
import { DEFAULT_TENANT, type Place } from '../routes.ts';
import { CAUSES } from '../tree/causes.ts';
import { nodeId, snapshotsOf, takenAt, type Nodes, type SnapshotNode } from '../tree/nodes.ts';

/** The present files that a snapshot can be compared with: those of a sandbox whose container runs. */
export interface PresentFiles {
  name: string;
  sandboxId: string;
}

type NamedSandbox = Pick<TreeSandbox, 'sandboxId' | 'workspace' | 'running'>;

/** A choice of a field: its value, and its text. */
export type Choice = readonly [string, string];

/** Returns the snapshots of a lineage that can be compared with a snapshot, newest first. */
export function comparable(node: SnapshotNode, nodes: Nodes): SnapshotNode[] {
  return snapshotsOf(nodes).filter((other) => other.id !== node.id && other.snapshot.state === 'ready');
}

/** Returns the parent of a snapshot: the one before it in its sandbox, or the one that the sandbox was created from. */
export function parentOf(node: SnapshotNode, others: SnapshotNode[], nodes: Nodes): SnapshotNode | undefined {
  const origin = nodes.get(node.parentId ?? '')?.parentId;
  return (
    others.find((other) => other.parentId === node.parentId && takenAt(other) < takenAt(node)) ??
    others.find(({ id }) => id === origin)
  );
}

/**
 * Names a sandbox for the user: by its workspace, or else by its id.
 *
 * @param page The workspace that the page is about.
 */
export function sandboxName({ sandboxId, workspace }: NamedSandbox, page: Workspace | undefined): string {
  if (!workspace) return sandboxId;
  const { name, tenant = DEFAULT_TENANT } = workspace;
  if (tenant !== (page?.tenant ?? DEFAULT_TENANT)) return `@${tenant}/${name}`;
  return page?.formerSandboxIds.includes(sandboxId) ? `a former sandbox of ${name}` : name;
}

/** Returns the present files of the workspace that the page is about, or else of the sandbox of the snapshot. */
export function ownPresentFiles(
  node: SnapshotNode,
  nodes: Nodes,
  page?: Workspace,
): PresentFiles | undefined {
  const sandboxId = page?.sandboxId ?? node.selected.sandboxId;
  const owner = nodes.get(nodeId({ sandboxId }));
  const sandbox: NamedSandbox =
    owner?.kind === 'sandbox' ? owner.sandbox : { sandboxId, ...(page && { workspace: page }) };
  return sandbox.running === false ? undefined : { name: sandboxName(sandbox, page), sandboxId };
}

/** Returns the present files of every running sandbox of the lineage by name, those of {@link ownPresentFiles} first. */
export function allPresentFiles(node: SnapshotNode, nodes: Nodes, page?: Workspace): PresentFiles[] {
  const own = ownPresentFiles(node, nodes, page);
  const others = [...nodes.values()].flatMap((other) =>
    other.kind === 'sandbox' && other.sandbox.running && other.sandbox.sandboxId !== own?.sandboxId
      ? [{ name: sandboxName(other.sandbox, page), sandboxId: other.sandbox.sandboxId }]
      : [],
  );
  return [...(own ? [own] : []), ...others.sort((a, b) => a.name.localeCompare(b.name))];
}

/** Returns the choices of present files. */
export function presentChoices(present: PresentFiles[]): Choice[] {
  return distinct(
    present.map(({ name, sandboxId }) => [nodeId({ sandboxId }), `Present files of ${name}`, sandboxId]),
  );
}

/** Returns the choices of snapshots. Those with the same label have the date and the time instead of the age. */
export function snapshotChoices(
  node: SnapshotNode,
  others: SnapshotNode[],
  nodes: Nodes,
  page: Workspace | undefined,
  now: number,
): Choice[] {
  const home = page?.sandboxId ?? node.selected.sandboxId;
  const names = [node, ...others].map(({ name }) => name);
  return describe(others, names, home, nodes, page, now);
}

/** Returns the snapshots that a workspace can continue from: those of its lineage, by their ids, newest first. */
export function sourceChoices(nodes: Nodes, page: Workspace, now: number): Choice[] {
  const ready = snapshotsOf(nodes).filter(({ snapshot }) => snapshot.state === 'ready');
  const names = ready.map(({ name }) => name);
  const texts = new Map(describe(ready, names, page.sandboxId, nodes, page, now));
  return ready.map(({ id, selected }) => [selected.snapshotId ?? '', texts.get(id) ?? '']);
}

/** Describes snapshots: by label, cause, age, and the workspace or sandbox that has them, unless it is `home`. */
function describe(
  snapshots: SnapshotNode[],
  names: string[],
  home: string,
  nodes: Nodes,
  page: Workspace | undefined,
  now: number,
): Choice[] {
  return distinct(
    snapshots.map((other) => {
      const { id, name, selected } = other;
      const taken = takenAt(other);
      const isUnique = names.indexOf(name) === names.lastIndexOf(name);
      const time = taken && `, ${isUnique ? age(taken, now) : dateTime(taken)}`;
      const owner = nodes.get(other.parentId ?? '');
      const origin =
        selected.sandboxId !== home && owner?.kind === 'sandbox'
          ? `, of ${sandboxName(owner.sandbox, page)}`
          : '';
      const sign = other.snapshot.cause && CAUSES[other.snapshot.cause];
      const cause = sign ? `, ${sign.text}` : '';
      return [id, `${name}${cause}${time}${origin}`, selected.snapshotId ?? ''];
    }),
  );
}

/** Appends the id to a text that occurs more than once. */
function distinct(choices: [value: string, text: string, id: string][]): Choice[] {
  const texts = choices.map(([, text]) => text);
  return choices.map(([value, text, id]) => [
    value,
    texts.indexOf(text) === texts.lastIndexOf(text) ? text : `${text}, ${id}`,
  ]);
}

/** Returns the page with the differences from a snapshot to present files. */
export function diffToPresent({ selected }: SnapshotNode, { sandboxId }: PresentFiles): Place {
  return {
    at: 'diff',
    from: { sandboxId: selected.sandboxId, snapshotId: selected.snapshotId ?? '' },
    to: { sandboxId },
  };
}
