// A text that selects a snapshot of a workspace: its id, its short ref or its label.

import type { Selection } from './types.ts';
import type { Address } from './workspace-address.ts';

/** Returns whether a text has the form of a short ref. */
export function isShortRef(text: string): boolean {
  return text.startsWith('snap_');
}

/** Returns whether a text is a label: it has neither the form of an id nor that of a short ref. */
export function isLabel(text: string): boolean {
  return !isShortRef(text) && !/^snap-[a-z0-9]{16}$/.test(text);
}

/** Returns the options that select a snapshot of a workspace. */
export function selectSnapshot(address: Address, snapshot: string): Selection {
  if (isShortRef(snapshot)) return { ref: snapshot };
  return { ...address, ...(isLabel(snapshot) ? { label: snapshot } : { snapshotId: snapshot }) };
}
