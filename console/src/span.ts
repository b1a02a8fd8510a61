// A duration as the user types it: a number and a unit.

/** Seconds of each unit, the smallest first. */
export const UNITS = { seconds: 1, minutes: 60, hours: 3_600, days: 86_400 } as const;

/** The name of a unit. */
export type Unit = keyof typeof UNITS;

/** The units, the smallest first. */
export const UNIT_NAMES = Object.keys(UNITS) as Unit[];

/** The content of the field. The amount may be any text. */
export interface Span {
  amount: string;
  unit: Unit;
}

/** Converts seconds to an amount of the largest unit that divides them. Undefined and 0 give one day. */
export function spanOf(seconds: number | undefined): Span {
  if (!seconds) return { amount: '1', unit: 'days' };
  const unit = UNIT_NAMES.findLast((name) => seconds % UNITS[name] === 0) ?? 'seconds';
  return { amount: String(seconds / UNITS[unit]), unit };
}

/** Returns a span in seconds, rounded; undefined if the amount is not a number of at least 1. */
export function secondsOf({ amount, unit }: Span): number | undefined {
  const number = amount.trim() === '' ? NaN : Number(amount);
  return Number.isFinite(number) && number >= 1 ? Math.round(number * UNITS[unit]) : undefined;
}
