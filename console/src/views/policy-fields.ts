// A policy as the fields of its form.

import type { KeepLast, Policy } from '../../../client/src/index.ts';
import { given, number } from '../options.ts';
import { DEFAULT_EXPIRATION } from './policy.ts';

/** What stands in the form. */
export interface PolicyFields {
  expirationSeconds: number | undefined;
  /** How many of the newest stay, as it was typed. */
  last: string;
  lastSeconds: number | undefined;
  deleteEvicted: boolean;
  /** For how many days and weeks, as it was typed. */
  daily: string;
  weekly: string;
}

/** A policy as it stands in the form. */
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

/** The policy that stands in the form. What the form does not know of the present one stays. */
export function policyOf(present: Policy, fields: PolicyFields): Policy {
  const { expirationSeconds, last, lastSeconds, deleteEvicted, daily, weekly } = fields;
  const newest = number(last);
  const keepLast =
    newest === undefined
      ? undefined
      : given<KeepLast>({
          ...present.keepLast,
          count: newest,
          deleteEvicted,
          expirationSeconds: lastSeconds,
        });
  return given<Policy>({
    ...present,
    expirationSeconds,
    keepLast,
    keepDaily: number(daily),
    keepWeekly: number(weekly),
  });
}
