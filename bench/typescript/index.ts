// A snapshotter in TypeScript, written for comparison: what the one in Rust does on the paths that are measured, in the way
// that comes natural here. Structured values pass over RPC, columns take the place of records, node:crypto signs.
//
// It has: strict arguments; a row before each capture and each restore, and the alarm that follows it up; the looks that
// the sandbox runs, that its directory is one, and that its container was not replaced; both objects of a backup
// looked up in R2, with size, mark and time; one capture at a time, shared by those who ask for the same; refs that are
// signed; labels that are unique; idempotency keys; minted ids that are claimed in their own object; pages with cursors;
// dependents; retention by age and by count; errors with code, kind, remediation and correlation id; a line of log for each
// call.
//
// It has not: HTTP, named workspaces, checkpoints, tools, imports, sessions, pins, rotation of keys, AbortSignals, `wake`;
// rules by days and weeks; tables of an older version; and of what can go wrong, doubt about a container that outlives the
// call which caused it. None of that is on the paths that are measured.

import { WorkerEntrypoint } from 'cloudflare:workers';

import { deletionOf, listingOf, restorationOf, captureOf } from './arguments.ts';
import { SnapshotterError } from './errors.ts';
import type { Workspace } from './workspace.ts';

export { Workspace } from './workspace.ts';

export interface Env {
  Workspace: DurableObjectNamespace<Workspace>;
  Sandbox: DurableObjectNamespace<any>;
  BACKUP_BUCKET: R2Bucket;
  LOCAL_BUCKET?: string;
}

export default class Snapshotter extends WorkerEntrypoint<Env> {
  snapshot(options: unknown) {
    return this.#told('snapshot', options, captureOf, (workspace, capture) => workspace.snapshot(capture));
  }

  restore(options: unknown) {
    return this.#told('restore', options, restorationOf, (workspace, restoration) =>
      workspace.restore(restoration),
    );
  }

  list(options: unknown) {
    return this.#told('list', options, listingOf, (workspace, listing) => workspace.list(listing));
  }

  delete(options: unknown) {
    return this.#told('delete', options, deletionOf, (workspace, deletion) => workspace.remove(deletion));
  }

  /** Checks the arguments, has the workspace do the work, and tells what came of it in a line of the log. */
  async #told<T extends { sandboxId: string }, A>(
    event: string,
    options: unknown,
    check: (options: unknown) => T,
    work: (workspace: DurableObjectStub<Workspace>, request: T) => Promise<A>,
  ): Promise<A> {
    const correlationId = crypto.randomUUID();
    const began = Date.now();
    let sandboxId: string | undefined;
    const tell = (outcome: object) =>
      console.log(
        JSON.stringify({ event, correlationId, sandboxId, durationMs: Date.now() - began, ...outcome }),
      );
    try {
      const request = check(options);
      sandboxId = request.sandboxId;
      const answer = await work(this.env.Workspace.getByName(sandboxId), request);
      tell({ outcome: 'success' });
      return answer;
    } catch (thrown) {
      const error = SnapshotterError.of(thrown, correlationId);
      tell({ outcome: 'failure', code: error.code, message: error.message });
      throw error;
    }
  }
}
