// The fields of a policy's form.

import type { KeepLast, Policy } from '../../../client/src/index.ts';
import { defined, number } from '../options.ts';
import { DEFAULT_EXPIRATION } from './policy.ts';

/** The contents of the form. */
export interface PolicyFields {
  expirationSeconds: number | undefined;
  /** The number of newest snapshots to keep, as typed. */
  last: string;
  lastSeconds: number | undefined;
  deleteEvicted: boolean;
  /** The number of days and of weeks, as typed. */
  daily: string;
  weekly: string;
}

/** Converts a policy to the contents of the form. */
export function fieldsOf({ expirationSeconds, keepLast, keepDaily, keepWeekly }: Policy): PolicyFields {
  return {
    expirationSeconds: expirationSeconds ?? DEFAULT_EXPIRATION,
    last: String(keepLast?.count ?? ''),
    lastSeconds: keepLast?.expirationSeconds,
    deleteEvicted: keepLast?.deleteEvicted ?? true,
    daily: String(keepDaily || ''),
    weekly: String(keepWeekly || ''),
  };
}

/** Converts the contents of the form to a policy. Keeps the fields of the present policy that the form does not have. */
export function policyOf(present: Policy, fields: PolicyFields): Policy {
  const { expirationSeconds, last, lastSeconds, deleteEvicted, daily, weekly } = fields;
  const newest = number(last);
  const keepLast =
    newest === undefined
      ? undefined
      : defined<KeepLast>({
          ...present.keepLast,
          count: newest,
          deleteEvicted,
          expirationSeconds: lastSeconds,
        });
  return defined<Policy>({
    ...present,
    expirationSeconds,
    keepLast,
    keepDaily: number(daily),
    keepWeekly: number(weekly),
  });
}
