// Forged refs.

import type { SnapshotRef } from '../client/src/index.ts';

const altered = (ref: SnapshotRef, change: object) => ({ ...ref, ref: { ...ref.ref, ...change } });
const flipped = (text: string) => (text.startsWith('A') ? 'B' : 'A') + text.slice(1);

/** The forgeries: how each is made of a valid ref, and the code of its refusal. */
export const FORGERIES: Record<string, [code: string, forgery: (ref: SnapshotRef) => object]> = {
  'another signature': ['REF_MISMATCH', (ref) => altered(ref, { signature: flipped(ref.ref.signature) })],
  'another snapshot': ['REF_MISMATCH', (ref) => altered(ref, { snapshotId: `snap-${'0'.repeat(16)}` })],
  'another origin': ['REF_MISMATCH', (ref) => altered(ref, { originId: `${ref.ref.originId}-x` })],
  'another provider': ['FOREIGN_REF', (ref) => ({ ...ref, providerId: 'docker' })],
};
