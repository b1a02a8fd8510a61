// Describes a retention policy in sentences.

import type { Policy } from '../../../client/src/index.ts';
import { count, exactDuration } from '../format.ts';

/** The expiration of a policy that sets none, in seconds after the last use: 30 days. */
export const DEFAULT_EXPIRATION = 2_592_000;

/** Describes a policy, one sentence for each rule. */
export function sentences(policy: Policy): string[] {
  const { expirationSeconds = DEFAULT_EXPIRATION, keepLast, keepDaily = 0, keepWeekly = 0 } = policy;
  return [
    `Snapshots ${expiration(expirationSeconds)}.`,
    ...(keepLast ? [limit(keepLast)] : []),
    ...(keepDaily > 0 ? [newestOfEach('day', keepDaily)] : []),
    ...(keepWeekly > 0 ? [newestOfEach('week', keepWeekly)] : []),
    'Pinned snapshots, snapshots with dependents and the newest restorable snapshot are never removed.',
  ];
}

function limit({ count: newest, deleteEvicted = true, expirationSeconds }: NonNullable<Policy['keepLast']>) {
  const own =
    expirationSeconds === undefined ? '' : ` The newest ${newest} ${expiration(expirationSeconds)}.`;
  const time = deleteEvicted ? 'at once' : 'when they expire';
  return `Snapshots that are not among the newest ${newest} are removed ${time}.${own}`;
}

function expiration(seconds: number): string {
  return seconds === 0 ? 'do not expire' : `expire ${exactDuration(seconds)} after their last use`;
}

function newestOfEach(unit: string, number: number): string {
  return `The newest snapshot of each ${unit} is kept, for the last ${count(number, unit)} with snapshots.`;
}
