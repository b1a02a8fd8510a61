// A policy in words.

import type { Policy } from '../../../client/src/index.ts';
import { count, exactDuration } from '../texts.ts';

/** Seconds after its last use that a snapshot goes where a policy says nothing. */
export const DEFAULT_EXPIRATION = 2_592_000;

/** What a policy says, a sentence for each rule. */
export function sentences(policy: Policy): string[] {
  const { expirationSeconds = DEFAULT_EXPIRATION, keepLast, keepDaily = 0, keepWeekly = 0 } = policy;
  return [
    expirationSeconds === 0
      ? 'Snapshots do not go by time.'
      : `A snapshot goes ${exactDuration(expirationSeconds)} after its last use.`,
    ...(keepLast ? [bound(keepLast)] : []),
    ...(keepDaily > 0 ? [`The newest of each of ${count(keepDaily, 'day')} stays.`] : []),
    ...(keepWeekly > 0 ? [`The newest of each of ${count(keepWeekly, 'week')} stays.`] : []),
    'What is pinned, what others need, and the newest that can be restored never go.',
  ];
}

function bound({ count: newest, deleteEvicted = true, expirationSeconds }: NonNullable<Policy['keepLast']>) {
  const own =
    expirationSeconds === undefined
      ? ''
      : expirationSeconds === 0
        ? ', for ever'
        : `, for ${exactDuration(expirationSeconds)} after their last use`;
  const others = deleteEvicted ? 'others go at once' : 'others go when they expire';
  return `The newest ${newest} stay${own}; ${others}.`;
}
