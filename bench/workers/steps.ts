// What passes between the benchmark and its Workers.

/** Who is measured: the snapshotter, the SDK called directly, the snapshotter in TypeScript. */
export type SideName = 'ours' | 'direct' | 'typescript';

/** What the caller can be told to do. */
export type Step =
  | { do: 'snapshot'; side: SideName; sandboxId: string; options?: object }
  | { do: 'restore' | 'remove'; side: SideName; snapshot: unknown }
  | { do: 'fork'; side: SideName; snapshot: unknown; count: number }
  | { do: 'list'; side: SideName; sandboxId: string; limit: number; times: number }
  | { do: 'call'; method: string; options: object }
  | { do: 'run'; id: string; command: string }
  | { do: 'sandbox'; id: string; method: string; args: unknown[] }
  | { do: 'store'; objects: [key: string, text: string][] }
  | { do: 'wait' | 'take' };

/** What came of it. */
export interface Timed {
  value: any;
  /** How long it took, in milliseconds: whole ones, since the clock of Workers has no others. */
  millis: number;
}

/** What Cloudflare bills. */
export interface Bill {
  /** Calls of Durable Objects: each method call on a stub is billed as one request. */
  requests: number;
  /** Rows of the storage of Durable Objects that were read. */
  rowsRead: number;
  /** Rows that were written; an alarm that is set is one. */
  rowsWritten: number;
  /** Operations of R2 of class A: put and list. */
  classA: number;
  /** Operations of R2 of class B: get and head. */
  classB: number;
  /** Everything that a Worker asks of another place: the above, deletions from R2, and calls of other Workers. */
  subrequests: number;
}

/** What was counted, and when. */
export interface Counts extends Bill {
  /** The calls of Durable Objects and of R2, in the order in which they began. */
  spans: Span[];
}

/** A call of a Durable Object or of R2. */
export interface Span {
  /** The binding and its method. */
  call: string;
  /** When it began, in milliseconds of the clock. */
  began: number;
  /** When it was answered; absent while it is not. */
  ended?: number;
}
