// What is shown is read again while somebody looks at it.

import { signal, type Signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';

import { tick } from './clock.ts';

/** Milliseconds from one reading to the next, where readings are quick. */
const EVERY = 4_000;

/** How many times as long as the last reading took there is none: a big tree asks many sandboxes. */
const SPARING = 5;

/** Milliseconds between readings at most, after failures. */
const MOST = 60_000;

/** Milliseconds after which a reading has failed that nobody answered. */
const PATIENCE = 60_000;

/** Readers at work that read again what is changed here. */
const readers = new Set<Reader<unknown>>();

/** Reads again what is shown, because something was changed. Resolves when all of it is read. */
export async function refresh(): Promise<void> {
  await Promise.all([...readers].map((reader) => reader.refresh()));
}

/** Reads something; `isAsked` is whether somebody asked for it, or changed something, and not its time alone came. */
export type Read<T> = (signal: AbortSignal, isAsked: boolean) => Promise<T>;

/** When something is read. */
export interface Pace {
  /** Milliseconds from one reading to the next; four seconds where it is not said. */
  every?: number;
  /** Whether nothing that is done here changes it, so that {@link refresh} leaves it out. */
  apart?: boolean;
}

/** Reads something again and again while the page is visible. Failures make it slower, and keep what was read before. */
export class Reader<T> {
  /** What was last read. It is the same object for as long as nothing differs. */
  readonly value = signal<T>();
  /** Why the last reading failed; undefined where it did not. */
  readonly failure = signal<unknown>();
  /** When it was last read, in milliseconds. */
  readonly readAt = signal<number>();
  readonly #read: Read<T>;
  readonly #pace: Required<Pace>;
  #text = '';
  #failures = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #reading: AbortController | undefined;
  #waiting: PromiseWithResolvers<void> | undefined;

  constructor(read: Read<T>, { every = EVERY, apart = false }: Pace = {}) {
    this.#read = read;
    this.#pace = { every, apart };
  }

  /** Begins to read. */
  start() {
    if (!this.#pace.apart) readers.add(this);
    document.addEventListener('visibilitychange', this.#look);
    addEventListener('online', this.#look);
    this.#look();
  }

  /** Reads no more. */
  stop() {
    readers.delete(this);
    document.removeEventListener('visibilitychange', this.#look);
    removeEventListener('online', this.#look);
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
    this.#timer = setTimeout(() => reading.abort(), PATIENCE);
    const began = performance.now();
    try {
      const value = await this.#read(reading.signal, this.#waiting !== undefined);
      if (this.#reading !== reading) return;
      this.#take(value);
    } catch (thrown) {
      if (this.#reading !== reading) return;
      this.#failures += 1;
      this.failure.value = thrown;
    }
    this.#waiting?.resolve();
    this.#waiting = undefined;
    clearTimeout(this.#timer);
    const spared = SPARING * (performance.now() - began);
    const wait = Math.max(this.#pace.every * 2 ** this.#failures, spared);
    this.#timer = setTimeout(this.#look, Math.min(wait, MOST));
  }

  #take(value: T) {
    const text = JSON.stringify(value);
    if (text !== this.#text) this.value.value = value;
    this.#text = text;
    this.#failures = 0;
    this.failure.value = undefined;
    this.readAt.value = Date.now();
    tick();
  }
}

/** What a view shows of something that is read again and again. */
export interface Live<T> {
  value: Signal<T | undefined>;
  failure: Signal<unknown>;
  readAt: Signal<number | undefined>;
}

/** Reads something for as long as a view shows it, and anew where `key` says that it is something else. */
export function useLive<T>(key: string, read: Read<T>, pace?: Pace): Live<T> {
  const reader = useMemo(() => new Reader(read, pace), [key]);
  useEffect(() => {
    reader.start();
    return () => reader.stop();
  }, [reader]);
  return reader;
}
