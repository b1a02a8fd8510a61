// Sizes, times and durations in few words.

const UNITS = [
  { name: 'd', seconds: 86_400 },
  { name: 'h', seconds: 3_600 },
  { name: 'min', seconds: 60 },
  { name: 's', seconds: 1 },
] as const;

/** A number of seconds in its largest unit: `3 d`, `5 min`. */
export function duration(seconds: number): string {
  const unit = UNITS.find((unit) => seconds >= unit.seconds) ?? { name: 's', seconds: 1 };
  return `${Math.floor(seconds / unit.seconds)} ${unit.name}`;
}

/** A number of seconds, exactly, in the largest unit that holds it whole: `36 h`. */
export function exactDuration(seconds: number): string {
  const unit = UNITS.find((unit) => seconds % unit.seconds === 0 && seconds >= unit.seconds);
  return unit ? `${seconds / unit.seconds} ${unit.name}` : '0 s';
}

/** How long ago a time is, or how far away: `5 min ago`, `in 3 d`. What is no time is left as it is. */
export function distance(time: string, now: number): string {
  const seconds = (now - Date.parse(time)) / 1000;
  if (Number.isNaN(seconds)) return time;
  if (seconds < -10) return `in ${duration(-seconds)}`;
  return seconds < 10 ? 'just now' : `${duration(seconds)} ago`;
}

/** How long ago something was, which is never ahead of now, whatever the clocks say: `5 min ago`. */
export function age(time: string, now: number): string {
  return distance(time, Math.max(now, Date.parse(time)));
}

/** When something expires: `expires in 3 d`, or `expired` where its time is over. */
export function expiry(time: string, now: number): string {
  return Date.parse(time) <= now ? 'expired' : `expires ${distance(time, now).replace('just now', 'now')}`;
}

const SIZES = ['B', 'kB', 'MB', 'GB', 'TB'];

/** A size in bytes: `41 kB`, `1.2 GB`. */
export function size(bytes: number): string {
  let value = bytes;
  let unit = 0;
  for (; Math.round(value) >= 1000 && unit < SIZES.length - 1; unit += 1) value /= 1000;
  return `${value.toFixed(unit > 0 && value < 10 ? 1 : 0)} ${SIZES[unit]}`;
}

const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

/** A time, whole, in the words of who reads it. What is no time is left as it is. */
export function moment(time: string): string {
  return Number.isNaN(Date.parse(time)) ? time : MOMENT.format(new Date(time));
}

/** A count with its noun: `1 snapshot`, `3 snapshots`. */
export function count(number: number, noun: string, plural = `${noun}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? noun : plural}`;
}
