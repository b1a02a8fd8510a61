// What is shown is read again while somebody looks at it.

import { signal, type Signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';

/** Milliseconds from one reading to the next, where readings are quick. */
const EVERY = 4_000;

/** How many times as long as the last reading took there is none: a big tree asks many sandboxes. */
const SPARING = 5;

/** Milliseconds between readings at most, after failures. */
const MOST = 60_000;

/** The time, in milliseconds, as exact as the ages that are shown. */
export const now = signal(Date.now());

setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 10_000);

/** Readers at work. One with a pace of its own reads what is not changed here. */
const readers = new Set<Reader<unknown>>();

/** Reads again what is shown, because something was changed. Resolves when all of it is read. */
export async function refresh(): Promise<void> {
  await Promise.all([...readers].map((reader) => reader.refresh()));
}

/** Reads something again and again while the page is visible. Failures make it slower, and keep what was read before. */
export class Reader<T> {
  /** What was last read. It is the same object for as long as nothing differs. */
  readonly value = signal<T>();
  /** Why the last reading failed; undefined where it did not. */
  readonly failure = signal<unknown>();
  /** When it was last read, in milliseconds. */
  readonly readAt = signal<number>();
  readonly #read: (signal: AbortSignal) => Promise<T>;
  readonly #every: number;
  #text = '';
  #failures = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #reading: AbortController | undefined;
  #waiting: PromiseWithResolvers<void> | undefined;

  constructor(read: (signal: AbortSignal) => Promise<T>, every = EVERY) {
    this.#read = read;
    this.#every = every;
  }

  /** Begins to read. */
  start() {
    if (this.#every === EVERY) readers.add(this);
    document.addEventListener('visibilitychange', this.#look);
    this.#look();
  }

  /** Reads no more. */
  stop() {
    readers.delete(this);
    document.removeEventListener('visibilitychange', this.#look);
    this.#halt();
    this.#waiting?.resolve();
  }

  /** Reads now, whatever is being read. Resolves when that is done. */
  refresh(): Promise<void> {
    this.#waiting ??= Promise.withResolvers();
    const { promise } = this.#waiting;
    void this.#once();
    return promise;
  }

  #look = () => {
    if (document.hidden) this.#halt();
    else void this.#once();
  };

  #halt() {
    clearTimeout(this.#timer);
    this.#reading?.abort();
    this.#reading = undefined;
  }

  async #once() {
    this.#halt();
    const reading = new AbortController();
    this.#reading = reading;
    const began = performance.now();
    try {
      const value = await this.#read(reading.signal);
      if (reading.signal.aborted) return;
      const text = JSON.stringify(value);
      if (text !== this.#text) this.value.value = value;
      this.#text = text;
      this.#failures = 0;
      this.failure.value = undefined;
      this.readAt.value = now.value = Date.now();
    } catch (thrown) {
      if (reading.signal.aborted) return;
      this.#failures += 1;
      this.failure.value = thrown;
    }
    this.#waiting?.resolve();
    this.#waiting = undefined;
    const spared = SPARING * (performance.now() - began);
    const wait = Math.max(this.#every * 2 ** this.#failures, spared);
    this.#timer = setTimeout(this.#look, Math.min(wait, MOST));
  }
}

/** What a view shows of something that is read again and again. */
export interface Live<T> {
  value: Signal<T | undefined>;
  failure: Signal<unknown>;
  readAt: Signal<number | undefined>;
}

/** Reads something for as long as a view shows it, and anew where `key` says that it is something else. */
export function useLive<T>(key: string, read: (signal: AbortSignal) => Promise<T>, every?: number): Live<T> {
  const reader = useMemo(() => new Reader(read, every), [key]);
  useEffect(() => {
    reader.start();
    return () => reader.stop();
  }, [reader]);
  return reader;
}
