/** The inactivity timeout: the platform ends a container, at most 6 hours after the last activity. An alarm covers longer ones. */

import type { SharedAlarm } from './alarm.ts';

/** The longest timeout of the platform, in milliseconds. */
const MAX_PLATFORM_MS = 6 * 3600_000;

/** The time between two alarms, in milliseconds. Each begins the platform's timeout again. */
const ALARM_MS = 3 * 3600_000;

/** The precision of the stored time of the last activity, in milliseconds. */
const ACTIVITY_MS = 60_000;

const TIMEOUT = 'sandbox-snapshotter:timeout';
const ACTIVITY = 'sandbox-snapshotter:activity';

const UNITS = { s: 1000, m: 60_000, h: 3600_000 };

/** A timeout: seconds, or a number with a unit, as `10m`. */
export type Duration = number | string;

/** Returns a duration in milliseconds. */
export function toMillis(duration: Duration): number {
  const [, count, unit = 's'] = /^(\d+(?:\.\d+)?)([smh])?$/.exec(String(duration)) ?? [];
  const millis = Number(count) * UNITS[unit as keyof typeof UNITS];
  if (millis > 0) return millis;
  throw new TypeError(`A timeout must be seconds or as 10m, got ${duration}.`);
}

/** The inactivity timeout of the container of an object. */
export class Inactivity {
  readonly #ctx: DurableObjectState;
  readonly #alarm: SharedAlarm;
  readonly #defaultMs: number;

  constructor(ctx: DurableObjectState, alarm: SharedAlarm, byDefault: Duration) {
    this.#ctx = ctx;
    this.#alarm = alarm;
    this.#defaultMs = toMillis(byDefault);
  }

  /** The timeout in milliseconds; infinite for none. */
  get timeoutMs(): number {
    const stored = this.#ctx.storage.kv.get<number | null>(TIMEOUT);
    return stored === undefined ? this.#defaultMs : (stored ?? Infinity);
  }

  /** Sets the timeout: null for none, nothing for the default. */
  async set(timeoutMs?: number | null): Promise<void> {
    const { kv } = this.#ctx.storage;
    if (timeoutMs === undefined) kv.delete(TIMEOUT);
    else kv.put(TIMEOUT, timeoutMs);
    await this.apply();
  }

  /** Records activity. */
  touch(): void {
    const { kv } = this.#ctx.storage;
    if (Date.now() - (kv.get<number>(ACTIVITY) ?? 0) > ACTIVITY_MS) kv.put(ACTIVITY, Date.now());
  }

  /** Sets the timeout of a running container. The platform loses it when the object restarts. */
  async apply(): Promise<void> {
    const { container } = this.#ctx;
    if (!container?.running) return this.#alarm.set();
    const { timeoutMs } = this;
    await container.setInactivityTimeout(Math.min(timeoutMs, MAX_PLATFORM_MS));
    await this.#alarm.set(timeoutMs > MAX_PLATFORM_MS ? Date.now() + ALARM_MS : undefined);
  }

  /** Returns whether a timeout beyond that of the platform is over for a container that was first seen at `since`. */
  isOver(since: number): boolean {
    const { timeoutMs } = this;
    const activity = Math.max(since, this.#ctx.storage.kv.get<number>(ACTIVITY) ?? 0);
    return timeoutMs > MAX_PLATFORM_MS && Date.now() - activity > timeoutMs;
  }
}
