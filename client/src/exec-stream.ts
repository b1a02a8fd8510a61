// The output of a command while it runs.

import { aborted, answerLost, foreignAnswer } from './failures.ts';
import { asSnapshotterError } from './recognize.ts';
import type { ExecOptions, ExecResult } from './types.ts';

/** The options of a command whose output is read while it runs. */
export type ExecStreamOptions = Omit<ExecOptions, 'stdin' | 'maxOutputBytes'> & {
  /** The standard input. A stream is read to its end before the command starts. */
  stdin?: string | ReadableStream<Uint8Array> | null;
};

/** A part of an output. */
export interface ExecOutput {
  type: 'stdout' | 'stderr';
  data: Uint8Array;
}

/** The end of a command. */
export type ExecExit = { type: 'exit' } & Pick<
  ExecResult,
  'sandboxId' | 'exitCode' | 'timedOut' | 'durationMs' | 'started'
>;

/** An event of a command that runs. The last one is its end. */
export type ExecEvent = ExecOutput | ExecExit;

/**
 * A command that runs, and its events. It can be iterated once. The command is killed where the iteration ends early, by
 * {@link cancel}, and by the signal of the call; an iteration that waits then fails with the code `ABORTED`.
 */
export class ExecStream implements AsyncIterable<ExecEvent> {
  readonly #body: ReadableStream<Uint8Array>;
  readonly #signal: AbortSignal | undefined;
  readonly #cancellation = new AbortController();
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;

  /** Wraps the body of the answer to a call with this signal. */
  constructor(body: ReadableStream<Uint8Array>, signal?: AbortSignal) {
    this.#body = body;
    this.#signal = signal;
  }

  /** Kills the command. */
  async cancel(): Promise<void> {
    this.#cancellation.abort();
    await (this.#reader ?? this.#body).cancel();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ExecEvent, void, undefined> {
    const reader = this.#body.getReader();
    this.#reader = reader;
    const lost = (cause: unknown) => {
      const { signal } = this.#cancellation;
      if (signal.aborted) return aborted(signal, 'The stream was ended by `cancel()`.');
      return this.#signal?.aborted ? aborted(this.#signal) : answerLost(cause, false);
    };
    const decoder = new TextDecoder();
    let text = '';
    try {
      for (;;) {
        const { done, value } = await reader.read().catch((thrown: unknown) => {
          throw lost(thrown);
        });
        if (done) throw lost('the stream ended before the command');
        text += decoder.decode(value, { stream: true });
        const events = text.split('\n\n');
        text = events.pop() as string;
        for (const event of events.map(decode)) {
          if (event === undefined) continue;
          yield event;
          if (event.type === 'exit') return;
        }
      }
    } finally {
      await reader.cancel().catch(() => {});
    }
  }
}

/** Decodes an event. Returns undefined for one that a later release adds. Throws the failure of the call. */
function decode(event: string): ExecEvent | undefined {
  const lines = event.split('\n').map((line) => /^(\w+): ?(.*)$/.exec(line)?.slice(1) ?? []);
  const { event: type, data } = Object.fromEntries(lines) as { event?: string; data?: string };
  if (data === undefined) return undefined;
  const value = parse(data);
  if (type === 'exit') return { type, ...value };
  if (type === 'stdout' || type === 'stderr') return { type, data: bytes(value) };
  if (type !== 'error') return undefined;
  throw asSnapshotterError(value) ?? foreignAnswer('the stream', 'an error that can not be read');
}

function parse(data: string): any {
  try {
    return JSON.parse(data);
  } catch {
    throw foreignAnswer('the stream', 'an event that can not be read');
  }
}

function bytes({ data, encoding }: { data: string; encoding?: string }): Uint8Array {
  if (encoding !== 'base64') return new TextEncoder().encode(data);
  const text = atob(data);
  const decoded = new Uint8Array(text.length);
  // A tenth of the time of `Uint8Array.from`.
  for (let index = 0; index < text.length; index += 1) decoded[index] = text.charCodeAt(index);
  return decoded;
}
