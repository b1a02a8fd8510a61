// Data that the console reads again while the page is visible.

import { signal, type Signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';

import { tick } from './clock.ts';

/** The default milliseconds from one read to the next. */
const INTERVAL = 4_000;

/** The minimum pause between reads, as a multiple of the last read's duration: a large tree reads many sandboxes. */
const PAUSE_FACTOR = 5;

/** The maximum milliseconds between reads. */
const MAX_INTERVAL = 60_000;

/** The milliseconds after which a read without an answer fails. */
const TIMEOUT = 60_000;

/** The started readers that {@link refresh} includes. */
const readers = new Set<Reader<unknown>>();

/** Reads everything on the page again after a change. Resolves when all reads have ended. */
export async function refresh(): Promise<void> {
  await Promise.all([...readers].map((reader) => reader.refresh()));
}

/** The options of the calls of a read. A call that fails is not repeated: the next read repeats it. */
export type ReadOptions = { signal: AbortSignal; retry: false };

/** Reads a value. `isRefresh` is whether the user requested the read or changed something. */
export type Read<T> = (options: ReadOptions, isRefresh: boolean) => Promise<T>;

/** When a reader reads. */
export interface Schedule {
  /** Milliseconds from one read to the next; 4 seconds if absent. */
  interval?: number;
  /** Whether no action of the console changes the value: {@link refresh} does not read it then. */
  isIndependent?: boolean;
}

/** Reads a value repeatedly while the page is visible. After a failure it reads less often, and keeps the last value. */
export class Reader<T> {
  /** The last value. The object stays the same as long as its content does. */
  readonly value = signal<T>();
  /** Why the last read failed; undefined if it succeeded. */
  readonly failure = signal<unknown>();
  /** When the value was last read, in milliseconds. */
  readonly readAt = signal<number>();
  readonly #read: Read<T>;
  readonly #schedule: Required<Schedule>;
  #text = '';
  #failures = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #reading: AbortController | undefined;
  #refreshed: PromiseWithResolvers<void> | undefined;

  constructor(read: Read<T>, { interval = INTERVAL, isIndependent = false }: Schedule = {}) {
    this.#read = read;
    this.#schedule = { interval, isIndependent };
  }

  /** Starts to read. */
  start() {
    if (!this.#schedule.isIndependent) readers.add(this);
    document.addEventListener('visibilitychange', this.#update);
    addEventListener('online', this.#update);
    this.#update();
  }

  /** Stops reading. */
  stop() {
    readers.delete(this);
    document.removeEventListener('visibilitychange', this.#update);
    removeEventListener('online', this.#update);
    this.#cancel();
    this.#refreshed?.resolve();
  }

  /** Reads the value now, and aborts a read in progress. Resolves when the read ends. */
  refresh(): Promise<void> {
    this.#refreshed ??= Promise.withResolvers();
    const { promise } = this.#refreshed;
    void this.#readOnce();
    return promise;
  }

  #update = () => {
    if (document.hidden) this.#cancel();
    else void this.#readOnce();
  };

  #cancel() {
    clearTimeout(this.#timer);
    this.#reading?.abort();
    this.#reading = undefined;
  }

  async #readOnce() {
    this.#cancel();
    const reading = new AbortController();
    this.#reading = reading;
    this.#timer = setTimeout(() => reading.abort(), TIMEOUT);
    const began = performance.now();
    try {
      const value = await this.#read({ signal: reading.signal, retry: false }, this.#refreshed !== undefined);
      if (this.#reading !== reading) return;
      this.#accept(value);
    } catch (thrown) {
      if (this.#reading !== reading) return;
      this.#failures += 1;
      this.failure.value = thrown;
    }
    this.#refreshed?.resolve();
    this.#refreshed = undefined;
    clearTimeout(this.#timer);
    const pause = PAUSE_FACTOR * (performance.now() - began);
    const wait = Math.max(this.#schedule.interval * 2 ** this.#failures, pause);
    this.#timer = setTimeout(this.#update, Math.min(wait, MAX_INTERVAL));
  }

  #accept(value: T) {
    const text = JSON.stringify(value);
    if (text !== this.#text) this.value.value = value;
    this.#text = text;
    this.#failures = 0;
    this.failure.value = undefined;
    this.readAt.value = Date.now();
    tick();
  }
}

/** A value that is read repeatedly, as a view uses it. */
export interface Live<T> {
  value: Signal<T | undefined>;
  failure: Signal<unknown>;
  readAt: Signal<number | undefined>;
}

/** Reads a value while the view is mounted. A new `key` begins a new value. */
export function useLive<T>(key: string, read: Read<T>, schedule?: Schedule): Live<T> {
  const reader = useMemo(() => new Reader(read, schedule), [key]);
  useEffect(() => {
    reader.start();
    return () => reader.stop();
  }, [reader]);
  return reader;
}
