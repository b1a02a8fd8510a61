// Refs: portable references to snapshots, signed with the key of the workspace.

import { createHmac, timingSafeEqual } from 'node:crypto';

import { SnapshotterError } from './errors.ts';

/** The SDK's handle of a backup. It is opaque and stays unchanged. */
export interface Handle {
  id: string;
  dir: string;
  localBucket?: boolean;
}

/** A reference to a snapshot. */
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

/** Signs a ref. */
export function signed(payload: Payload, key: Uint8Array): SnapshotRef {
  return { providerId: 'cloudflare-sandbox', ref: { ...payload, signature: signature(payload, key) } };
}

/** Whether a ref is signed with a key. The comparison takes constant time. */
export function isSignedBy({ ref }: SnapshotRef, key: Uint8Array): boolean {
  const { signature: given, ...payload } = ref;
  const [expected, actual] = [signature(payload, key), given].map((text) => new TextEncoder().encode(text));
  return expected!.length === actual!.length && timingSafeEqual(expected!, actual!);
}

/** Computes the signature. It does not depend on the order of the fields. */
function signature(payload: Payload, key: Uint8Array): string {
  const { schemaVersion, snapshotId, originId, rootId, backup, createdAt } = payload;
  const handle = Object.entries(backup).sort(([a], [b]) => (a < b ? -1 : 1));
  const message = JSON.stringify([schemaVersion, snapshotId, originId, rootId, handle, createdAt]);
  return createHmac('sha256', key).update(message).digest('base64url');
}

/** Checks that a value has the form of a ref. */
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
      'The value is not a snapshot ref.',
      'Pass the ref exactly as snapshot() returned it.',
    );
  return { providerId, ref };
}
