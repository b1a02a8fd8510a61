import type { SnapshotterFailure } from '../../../client/src/index.ts';

/** How the visitor calls the snapshotter. */
export interface Route {
  /** The binding; the snapshotter if absent. */
  binding?: 'SNAPSHOTTER' | 'PROXY' | 'FAILING';
  /** The token, with which calls use fetch if RPC does not work. */
  token?: string;
  /** Whether calls use fetch only. */
  overFetch?: boolean;
}

/** A step that a test runs in the visitor. */
export type Step = { route?: Route } & (
  | { do: 'call'; operation: string; options?: object; signal?: boolean }
  | { do: 'all snapshots'; options: { sandboxId: string; limit?: number } }
  | { do: 'abort' }
  | { do: 'exec'; sandboxId: string; command: string }
);

/** The outcome of a step. */
export type Outcome =
  | { value: unknown; error?: never }
  | { value?: never; error: SnapshotterFailure & { text: string; className: string } };
