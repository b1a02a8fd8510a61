// Refs: what snapshots are outside of this Worker, signed by the key of their workspace.

import { createHmac, timingSafeEqual } from 'node:crypto';

import { SnapshotterError } from './errors.ts';

/** The SDK's handle of a backup, kept whole and given back whole. */
export interface Handle {
  id: string;
  dir: string;
  localBucket?: boolean;
}

/** A snapshot, as it passes through applications. */
export interface SnapshotRef {
  providerId: 'cloudflare-sandbox';
  ref: Payload & { signature: string };
}

interface Payload {
  schemaVersion: 1;
  snapshotId: string;
  originId: string;
  rootId: string;
  backup: Handle;
  createdAt: string;
}

/** Signs what a ref says. */
export function signed(payload: Payload, key: Uint8Array): SnapshotRef {
  return { providerId: 'cloudflare-sandbox', ref: { ...payload, signature: signature(payload, key) } };
}

/** Whether a ref was signed by a key. Takes as long for a wrong signature as for the right one. */
export function isSignedBy({ ref }: SnapshotRef, key: Uint8Array): boolean {
  const { signature: given, ...payload } = ref;
  const [right, theirs] = [signature(payload, key), given].map((text) => new TextEncoder().encode(text));
  return right!.length === theirs!.length && timingSafeEqual(right!, theirs!);
}

/** What is signed does not depend on the order in which a caller's copy has the fields. */
function signature(payload: Payload, key: Uint8Array): string {
  const { schemaVersion, snapshotId, originId, rootId, backup, createdAt } = payload;
  const handle = Object.entries(backup).sort(([one], [other]) => (one < other ? -1 : 1));
  const message = JSON.stringify([schemaVersion, snapshotId, originId, rootId, handle, createdAt]);
  return createHmac('sha256', key).update(message).digest('base64url');
}

/** A ref that came from outside, if it has the form of one. */
export function checkedRef(value: unknown): SnapshotRef {
  const { providerId, ref, capture: _, ...rest } = (value ?? {}) as SnapshotRef & { capture?: unknown };
  const texts = [
    ref?.snapshotId,
    ref?.originId,
    ref?.rootId,
    ref?.createdAt,
    ref?.signature,
    ref?.backup?.id,
  ];
  const isRef =
    providerId === 'cloudflare-sandbox' &&
    Object.keys(rest).length === 0 &&
    ref?.schemaVersion === 1 &&
    Object.keys(ref).length === 7 &&
    texts.every((text) => typeof text === 'string');
  if (!isRef)
    throw new SnapshotterError(
      'INVALID_REF',
      'The snapshot ref is not one.',
      'Pass the ref on exactly as snapshot() answered it.',
    );
  return { providerId, ref };
}
