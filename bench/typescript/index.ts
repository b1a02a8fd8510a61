// A snapshotter in TypeScript, written as a baseline. On the measured paths it does the same as the one in Rust, in idiomatic
// TypeScript: RPC passes structured values, rows have columns instead of JSON records, and node:crypto signs refs.
//
// It has: strict arguments; a row before each capture and each restore, and an alarm that reconciles it; checks that the
// sandbox runs, that its directory is a directory, and that its container was not replaced; a check of both objects of a
// backup in R2 by size, owner and time; one capture at a time, shared by equal calls; signed refs; unique labels; idempotency
// keys; minted ids that are claimed in their own object; pages with cursors; dependents; retention by age and by count; errors
// with code, kind, remediation and correlation id; one log line for each call.
//
// It lacks: HTTP, named workspaces, checkpoints, tools, imports, lineage scopes, pins, key rotation, AbortSignals, `wake`,
// retention by days and weeks, migrations of tables, and unverified containers that outlive the call. None of these is on the
// measured paths.

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
    return this.#run('snapshot', options, captureOf, (workspace, capture) => workspace.snapshot(capture));
  }

  restore(options: unknown) {
    return this.#run('restore', options, restorationOf, (workspace, restoration) =>
      workspace.restore(restoration),
    );
  }

  list(options: unknown) {
    return this.#run('list', options, listingOf, (workspace, listing) => workspace.list(listing));
  }

  delete(options: unknown) {
    return this.#run('delete', options, deletionOf, (workspace, deletion) => workspace.remove(deletion));
  }

  /** Checks the arguments, calls the workspace, and logs the outcome. */
  async #run<T extends { sandboxId: string }, A>(
    event: string,
    options: unknown,
    check: (options: unknown) => T,
    work: (workspace: DurableObjectStub<Workspace>, request: T) => Promise<A>,
  ): Promise<A> {
    const correlationId = crypto.randomUUID();
    const began = Date.now();
    let sandboxId: string | undefined;
    const log = (outcome: object) =>
      console.log(
        JSON.stringify({ event, correlationId, sandboxId, durationMs: Date.now() - began, ...outcome }),
      );
    try {
      const request = check(options);
      sandboxId = request.sandboxId;
      const answer = await work(this.env.Workspace.getByName(sandboxId), request);
      log({ outcome: 'success' });
      return answer;
    } catch (thrown) {
      const error = SnapshotterError.of(thrown, correlationId);
      log({ outcome: 'failure', code: error.code, message: error.message });
      throw error;
    }
  }
}
