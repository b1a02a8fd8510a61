// A text that selects a snapshot of a workspace: its id, its short ref or its label.

import { kindOf } from './arguments.ts';
import { invalidArgument } from './failures.ts';
import type { Selection } from './types.ts';
import type { Address } from './workspace-address.ts';

/** Refuses anything else than a text as the snapshot that a method takes. */
export function requireSnapshot(method: string, snapshot: unknown): void {
  if (typeof snapshot === 'string') return;
  throw invalidArgument(
    `${method}() needs a snapshot as a text, got ${kindOf(snapshot)}.`,
    'Pass its id, its short ref, its label or "latest".',
  );
}

/** Returns whether a text has the form of a short ref. */
export function isShortRef(text: string): boolean {
  return text.startsWith('snap_');
}

/** Returns whether a text is a label: it has neither the form of an id nor that of a short ref. */
export function isLabel(text: string): boolean {
  return !isShortRef(text) && !/^snap-[a-z0-9]{16}$/.test(text);
}

/** Returns the options that select a snapshot of a workspace, for a method. Refuses anything else than a text. */
export function selectSnapshot(method: string, address: Address, snapshot: string): Selection {
  requireSnapshot(method, snapshot);
  if (isShortRef(snapshot)) return { ref: snapshot };
  return { ...address, ...(isLabel(snapshot) ? { label: snapshot } : { snapshotId: snapshot }) };
}
