// The messages between the benchmark and its Workers.

/** The measured implementations: the snapshotter, direct SDK calls, the TypeScript snapshotter. */
export type SideName = 'ours' | 'direct' | 'typescript';

/** A method of a container by plain calls of `ctx.container`. */
export type RawMethod = 'start' | 'restore' | 'startFrom' | 'snapshot' | 'run' | 'destroy';

/** A step that the caller runs, `times` times one after the other; by default once. */
export type Step = (
  | { do: 'snapshot'; side: SideName; sandboxId: string; options?: object }
  | { do: 'restore' | 'remove'; side: SideName; snapshot: unknown }
  | { do: 'fork'; side: SideName; snapshot: unknown; count: number }
  | { do: 'list'; side: SideName; sandboxId: string; limit: number }
  | { do: 'call'; method: string; options: object }
  | { do: 'exec'; id: string; command: string }
  | { do: 'sandbox'; id: string; method: string; args: unknown[] }
  | { do: 'raw'; id: string; method: RawMethod; args: unknown[] }
  | { do: 'store'; objects: [key: string, text: string][] }
  | { do: 'drain' | 'takeCounts' }
) & { times?: number };

/** The result of a step: the last value, and the time of all calls. */
export interface Timed {
  value: any;
  /** The duration in whole milliseconds, the resolution of the clock of Workers. */
  millis: number;
}

/** Billed usage. */
export interface Bill {
  /** Calls of Durable Objects: each method call on a stub is billed as one request. */
  requests: number;
  /** Rows read from the storage of Durable Objects. */
  rowsRead: number;
  /** Rows written to the storage of Durable Objects. Setting an alarm is one row. */
  rowsWritten: number;
  /** Operations of R2 of class A: put and list. */
  classA: number;
  /** Operations of R2 of class B: get and head. */
  classB: number;
  /** All calls that leave a Worker: the above, deletions from R2, and calls of other Workers. */
  subrequests: number;
}

/** The counts of a Worker. */
export interface Counts extends Bill {
  /** The calls of Durable Objects and of R2, in the order of their starts. */
  spans: Span[];
}

/** A call of a Durable Object or of R2. */
export interface Span {
  /** The binding and its method. */
  call: string;
  /** The start, in milliseconds of the clock. */
  began: number;
  /** The time of the answer. Absent while the call is pending. */
  ended?: number;
}
