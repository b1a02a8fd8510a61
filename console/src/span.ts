// A span of time as it is typed: a number, and its unit.

/** Seconds of each unit, the smallest first. */
export const UNITS = { seconds: 1, minutes: 60, hours: 3_600, days: 86_400 } as const;

/** The name of a unit. */
export type Unit = keyof typeof UNITS;

/** The units, the smallest first. */
export const UNIT_NAMES = Object.keys(UNITS) as Unit[];

/** What is in the field: its text may be anything. */
export interface Span {
  amount: string;
  unit: Unit;
}

/** A number of seconds as one would type it, in the largest unit that holds it whole; one day where there is none. */
export function spanOf(seconds: number | undefined): Span {
  if (!seconds) return { amount: '1', unit: 'days' };
  const unit = UNIT_NAMES.findLast((name) => seconds % UNITS[name] === 0) ?? 'seconds';
  return { amount: String(seconds / UNITS[unit]), unit };
}

/** The whole seconds of a span; undefined where its text is no number, or less than one of its unit. */
export function secondsOf({ amount, unit }: Span): number | undefined {
  const number = amount.trim() === '' ? NaN : Number(amount);
  return Number.isFinite(number) && number >= 1 ? Math.round(number * UNITS[unit]) : undefined;
}
