import type { SnapshotterFailure } from '../../../client/src/index.ts';

/** How the visitor reaches the snapshotter. */
export interface Way {
  /** The binding; the snapshotter's own where absent. */
  binding?: 'SNAPSHOTTER' | 'PROXY' | 'FAILING';
  /** With it, calls go over fetch where RPC gets nowhere. */
  token?: string;
  /** Whether they go over fetch alone. */
  overFetch?: boolean;
}

/** What the visitor can be told to do. */
export type Step = { way?: Way } & (
  | { do: 'call'; operation: string; options?: object; signal?: boolean }
  | { do: 'all snapshots'; options: { sandboxId: string; limit?: number } }
  | { do: 'abort' }
  | { do: 'exec'; sandboxId: string; command: string }
);

/** What came of it. */
export type Outcome =
  | { value: unknown; error?: never }
  | { value?: never; error: SnapshotterFailure & { text: string; className: string } };
