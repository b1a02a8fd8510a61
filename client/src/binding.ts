import type { Download, DownloadName, Downloads } from './downloads.ts';
import type { Answer, OperationName } from './operations.ts';
import type { Operations } from './types.ts';

/** A method of the service binding. It passes on an `AbortSignal` if this Worker has the flag `enable_abortsignal_rpc`. */
type Method<O extends OperationName> = (
  options: Operations[O]['options'] & { signal?: AbortSignal },
) => Promise<Answer<O>>;

/** The name of a group of operations, such as `workspaces`. */
type Group = OperationName extends infer O ? (O extends `${infer G}/${string}` ? G : never) : never;

/**
 * The RPC methods of a service binding to the snapshotter, for calls without a client: `env.SNAPSHOTTER.snapshot({ … })`,
 * `env.SNAPSHOTTER.workspaces.start({ … })`. Declare the binding as `Fetcher & SnapshotterBinding`.
 *
 * An error arrives as an `Error` that `asSnapshotterError` recognizes.
 */
export type SnapshotterBinding = { [O in OperationName]: Method<O> } & {
  [G in Group]: {
    [O in OperationName as O extends `${G}/${infer M}` ? M : never]: Method<O>;
  };
} & { [N in DownloadName]: (options: Downloads[N]) => Promise<Download> } & {
  files: {
    [N in DownloadName as N extends `files/${infer M}` ? M : never]: (
      options: Downloads[N],
    ) => Promise<Download>;
  };
};
