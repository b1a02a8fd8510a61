import { SnapshotterError } from './errors.ts';
import { answerLost } from './failures.ts';
import { CheckpointOperations, ToolOperations, WorkspaceOperations } from './groups.ts';
import {
  isRepeatable,
  withKey,
  type Answer,
  type CallOptions,
  type Control,
  type OperationName,
  type Options,
} from './operations.ts';
import { iteratePages } from './pages.ts';
import { asSnapshotterError } from './recognize.ts';
import { allowsRetry, withRetries, type RetryOptions } from './retry.ts';
import { untilAborted } from './signal.ts';
import { ModelTools } from './tools/model-tools.ts';
import type { Transport } from './transport/transport.ts';
import type { Summary, Toolset } from './types.ts';

/** The options of a client. */
export interface ClientOptions {
  /** The policy for retries after transient failures; `false` disables them. */
  retry?: RetryOptions | false;
  /** Generates the idempotency key of a call that has none; generates a UUID if absent. */
  newKey?: () => string;
}

/**
 * The client of the snapshotter. Each method calls the operation of its name, and takes a `signal` with its options.
 *
 * The client retries a call after a transient failure, if a second call has no effect beyond the first one. To make the
 * calls that create something safe to retry, it adds an `idempotencyKey` to those that have none. Every failure is an
 * instance of `SnapshotterError`.
 */
export class SnapshotterClient {
  /** The operations on named workspaces, whose files persist across sandboxes. */
  readonly workspaces: WorkspaceOperations;
  /** The operations on checkpoints: named states inside a sandbox that are cheap, local and lost with the container. */
  readonly checkpoints: CheckpointOperations;
  /** The operations on tools for language models. */
  readonly tools: ToolOperations;
  readonly #transport: Transport;
  readonly #retry: RetryOptions;
  readonly #newKey: () => string;

  /** Creates a client over `service(binding)`, `rpc(binding)`, `http({ url, token })`, or another transport. */
  constructor(transport: Transport, { retry = {}, newKey = () => crypto.randomUUID() }: ClientOptions = {}) {
    this.#transport = transport;
    this.#retry = retry || { attempts: 1 };
    this.#newKey = newKey;
    this.workspaces = new WorkspaceOperations(this);
    this.checkpoints = new CheckpointOperations(this);
    this.tools = new ToolOperations(this);
  }

  /** Calls an operation by its name. */
  async call<O extends OperationName>(operation: O, options: CallOptions<O>): Promise<Answer<O>> {
    const { signal, retry, ...given } = options as Control & Record<string, unknown>;
    const sent: Options = withKey(operation, given, this.#newKey);
    const repeatable = isRepeatable(operation, sent);
    const call = { operation, options: sent, signal, repeatable };
    const attempt = async () => {
      try {
        return await this.#transport.send(call);
      } catch (thrown) {
        throw asSnapshotterError(thrown) ?? answerLost(thrown, repeatable);
      }
    };
    const isRetryable = (thrown: unknown) =>
      thrown instanceof SnapshotterError && allowsRetry(thrown, repeatable);
    const policy = retry === false ? { attempts: 1 } : this.#retry;
    const work = () => withRetries(policy, signal, attempt, isRetryable);
    return (await untilAborted(signal, work)) as Answer<O>;
  }

  /** Captures a directory of a running sandbox. */
  snapshot(options: CallOptions<'snapshot'>): Promise<Answer<'snapshot'>> {
    return this.call('snapshot', options);
  }

  /** Creates a sandbox `<origin>-restored-<id>` with the files of a snapshot. */
  restore(options: CallOptions<'restore'>): Promise<Answer<'restore'>> {
    return this.call('restore', options);
  }

  /** Creates a sandbox `<origin>-branch-<id>` with the files of a snapshot, to try an alternative. */
  branch(options: CallOptions<'branch'>): Promise<Answer<'branch'>> {
    return this.call('branch', options);
  }

  /** Returns a page of the snapshots of a sandbox, newest first. */
  list(options: CallOptions<'list'>): Promise<Answer<'list'>> {
    return this.call('list', options);
  }

  /** Iterates over the snapshots of a sandbox, newest first. Requests pages of `limit` on demand. */
  snapshots(options: CallOptions<'list'>): AsyncGenerator<Summary, void, undefined> {
    const page = (cursor?: string) => this.list(cursor === undefined ? options : { ...options, cursor });
    return iteratePages(page, ({ snapshots }) => snapshots);
  }

  /** Returns the summary of one snapshot, as lists contain it. */
  get(options: CallOptions<'get'>): Promise<Answer<'get'>> {
    return this.call('get', options);
  }

  /** Returns all details of one snapshot. */
  manifest(options: CallOptions<'manifest'>): Promise<Answer<'manifest'>> {
    return this.call('manifest', options);
  }

  /** Checks in R2 whether a snapshot can be restored. Starts no container. */
  verify(options: CallOptions<'verify'>): Promise<Answer<'verify'>> {
    return this.call('verify', options);
  }

  /** Changes the label of a snapshot. */
  label(options: CallOptions<'label'>): Promise<Answer<'label'>> {
    return this.call('label', options);
  }

  /** Pins a snapshot: the retention policy never removes it. */
  pin(options: CallOptions<'pin'>): Promise<Answer<'pin'>> {
    return this.call('pin', options);
  }

  /** Unpins a snapshot: the retention policy applies to it again. */
  unpin(options: CallOptions<'unpin'>): Promise<Answer<'unpin'>> {
    return this.call('unpin', options);
  }

  /** Deletes a snapshot. A snapshot that is pinned or has dependents is deleted only with `force`. */
  delete(options: CallOptions<'delete'>): Promise<Answer<'delete'>> {
    return this.call('delete', options);
  }

  /** Imports a backup that the SDK created directly. */
  import(options: CallOptions<'import'>): Promise<Answer<'import'>> {
    return this.call('import', options);
  }

  /** Returns the tree of sandboxes and snapshots that a sandbox belongs to. */
  lineage(options: CallOptions<'lineage'>): Promise<Answer<'lineage'>> {
    return this.call('lineage', options);
  }

  /** Returns the retention policy of a sandbox, and the present decision about each of its snapshots. */
  retention(options: CallOptions<'retention'>): Promise<Answer<'retention'>> {
    return this.call('retention', options);
  }

  /** Sets the retention policy of a sandbox, and applies it at once. */
  setRetention(options: CallOptions<'setRetention'>): Promise<Answer<'setRetention'>> {
    return this.call('setRetention', options);
  }

  /** Applies the retention policy of a sandbox: removes the snapshots that the policy does not keep. */
  applyRetention(options: CallOptions<'applyRetention'>): Promise<Answer<'applyRetention'>> {
    return this.call('applyRetention', options);
  }

  /** Creates a new key, which signs refs from now on. Refs that the previous key signed are still accepted. */
  rotateKey(options: CallOptions<'rotateKey'>): Promise<Answer<'rotateKey'>> {
    return this.call('rotateKey', options);
  }

  /** Deletes the backups in R2 that carry the snapshotter's mark and that no snapshot owns. */
  sweep(options: CallOptions<'sweep'> = {}): Promise<Answer<'sweep'>> {
    return this.call('sweep', options);
  }

  /** Checks whether the deployment is ready for use. */
  health(options: CallOptions<'health'> = {}): Promise<Answer<'health'>> {
    return this.call('health', options);
  }

  /** Returns the tools for some workspaces, in the formats of model APIs, with functions that answer tool calls. */
  async toolset({ signal, retry, ...declaration }: Toolset & Control): Promise<ModelTools> {
    const { tools } = await this.tools.list({ ...declaration, signal, retry });
    return new ModelTools(this.tools, declaration, tools);
  }
}
