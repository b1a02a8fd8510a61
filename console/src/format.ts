// Formats sizes, times, durations and counts.

const UNITS = [
  { name: 'd', seconds: 86_400 },
  { name: 'h', seconds: 3_600 },
  { name: 'min', seconds: 60 },
  { name: 's', seconds: 1 },
] as const;

/** Formats seconds in the largest unit, rounded to the nearest number: `3 d`, `5 min`. */
export function duration(seconds: number): string {
  const unit = largestUnit(seconds);
  const rounded = Math.round(seconds / unit.seconds) * unit.seconds;
  // 59.6 min are rounded to 1 h.
  const larger = largestUnit(rounded);
  return `${rounded / larger.seconds} ${larger.name}`;
}

function largestUnit(seconds: number) {
  return UNITS.find((unit) => seconds >= unit.seconds) ?? { name: 's', seconds: 1 };
}

/** Formats seconds exactly, in the largest unit that divides them: `36 h`. */
export function exactDuration(seconds: number): string {
  const unit = UNITS.find((unit) => seconds % unit.seconds === 0 && seconds >= unit.seconds);
  return unit ? `${seconds / unit.seconds} ${unit.name}` : '0 s';
}

/** Formats a time relative to now: `5 min ago`, `in 3 d`. Returns a text that is not a time unchanged. */
export function relativeTime(time: string, now: number): string {
  const seconds = (now - Date.parse(time)) / 1000;
  if (Number.isNaN(seconds)) return time;
  if (seconds < -10) return `in ${duration(-seconds)}`;
  return seconds < 10 ? 'just now' : `${duration(seconds)} ago`;
}

/** Formats the time since a past event: `5 min ago`. A time that is ahead of now, because clocks differ, counts as now. */
export function age(time: string, now: number): string {
  return relativeTime(time, Math.max(now, Date.parse(time)));
}

/** Formats an expiration time: `expires in 3 d`, or `expired` if it has passed. */
export function expiry(time: string, now: number): string {
  return Date.parse(time) <= now
    ? 'expired'
    : `expires ${relativeTime(time, now).replace('just now', 'now')}`;
}

const SIZES = ['B', 'kB', 'MB', 'GB', 'TB'];

/** Formats a size in bytes: `41 kB`, `1.2 GB`. */
export function size(bytes: number): string {
  let value = bytes;
  let unit = 0;
  for (; Math.round(value) >= 1000 && unit < SIZES.length - 1; unit += 1) value /= 1000;
  return `${value.toFixed(unit > 0 && value < 9.95 ? 1 : 0)} ${SIZES[unit]}`;
}

const DATE_TIME = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** Formats a date and time, with seconds, for the user's locale. Returns a text that is not a time unchanged. */
export function dateTime(time: string): string {
  return Number.isNaN(Date.parse(time)) ? time : DATE_TIME.format(new Date(time));
}

/** Formats the times and durations in a text of the Worker for the user. */
export function readable(text: string): string {
  return text
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, dateTime)
    .replace(/\b(\d+) seconds\b/g, (_, seconds) => exactDuration(Number(seconds)));
}

/** Formats a count with its noun: `1 snapshot`, `3 snapshots`. */
export function count(number: number, noun: string, plural = `${noun}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? noun : plural}`;
}
