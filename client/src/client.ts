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
import { each } from './pages.ts';
import { asSnapshotterError } from './recognize.ts';
import { mayRepeat, retrying, type RetryOptions } from './retry.ts';
import { untilAborted } from './signal.ts';
import { ModelTools } from './tools/model-tools.ts';
import type { Transport } from './transport/transport.ts';
import type { Summary, Toolset } from './types.ts';

/** How a client makes its calls. */
export interface ClientOptions {
  /** How calls are made again that failed in passing; `false`: they are not. */
  retry?: RetryOptions | false;
  /** Makes the idempotency key of a call that has none: a UUID where absent. */
  newKey?: () => string;
}

/**
 * Calls the snapshotter: each method is the operation of its name, and takes a `signal` with its options.
 *
 * A call that failed in passing is made again, where that does no harm. So that it never does for what makes something,
 * such calls get an `idempotencyKey` where you give none. All failures are instances of `SnapshotterError`.
 */
export class SnapshotterClient {
  /** Workspaces that persist by name, across sandboxes that come and go. */
  readonly workspaces: WorkspaceOperations;
  /** Named states inside a sandbox: cheap, local, gone with the container. */
  readonly checkpoints: CheckpointOperations;
  /** Tools for language models. */
  readonly tools: ToolOperations;
  readonly #transport: Transport;
  readonly #retry: RetryOptions;
  readonly #newKey: () => string;

  /** A client over `service(binding)`, `rpc(binding)`, `http({ url, token })`, or a transport of your own. */
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
    const asked: Options = withKey(operation, given, this.#newKey);
    const repeatable = isRepeatable(operation, asked);
    const call = { operation, options: asked, signal, repeatable };
    const attempt = async () => {
      try {
        return await this.#transport.send(call);
      } catch (thrown) {
        throw asSnapshotterError(thrown) ?? answerLost(thrown, repeatable);
      }
    };
    const isPassing = (thrown: unknown) =>
      thrown instanceof SnapshotterError && mayRepeat(thrown, repeatable);
    const policy = retry === false ? { attempts: 1 } : this.#retry;
    const work = () => retrying(policy, signal, attempt, isPassing);
    return (await untilAborted(signal, work)) as Answer<O>;
  }

  /** Captures a directory of a running sandbox. */
  snapshot(options: CallOptions<'snapshot'>): Promise<Answer<'snapshot'>> {
    return this.call('snapshot', options);
  }

  /** Makes a new sandbox, `<origin>-restored-<id>`, with the files of a snapshot. */
  restore(options: CallOptions<'restore'>): Promise<Answer<'restore'>> {
    return this.call('restore', options);
  }

  /** The same, to try something else: `<origin>-branch-<id>`. */
  branch(options: CallOptions<'branch'>): Promise<Answer<'branch'>> {
    return this.call('branch', options);
  }

  /** A page of the snapshots of a sandbox, the newest first. */
  list(options: CallOptions<'list'>): Promise<Answer<'list'>> {
    return this.call('list', options);
  }

  /** All snapshots of a sandbox, the newest first, read in pages of `limit` as they are needed. */
  snapshots(options: CallOptions<'list'>): AsyncGenerator<Summary, void, undefined> {
    const page = (cursor?: string) => this.list(cursor === undefined ? options : { ...options, cursor });
    return each(page, ({ snapshots }) => snapshots);
  }

  /** One snapshot, as lists show it. */
  get(options: CallOptions<'get'>): Promise<Answer<'get'>> {
    return this.call('get', options);
  }

  /** Everything that is known about one snapshot. */
  manifest(options: CallOptions<'manifest'>): Promise<Answer<'manifest'>> {
    return this.call('manifest', options);
  }

  /** Checks a snapshot in R2. No container is started. */
  verify(options: CallOptions<'verify'>): Promise<Answer<'verify'>> {
    return this.call('verify', options);
  }

  /** Gives a snapshot another label. */
  label(options: CallOptions<'label'>): Promise<Answer<'label'>> {
    return this.call('label', options);
  }

  /** Keeps a snapshot whatever the policy says. */
  pin(options: CallOptions<'pin'>): Promise<Answer<'pin'>> {
    return this.call('pin', options);
  }

  /** Leaves a snapshot to the policy again. */
  unpin(options: CallOptions<'unpin'>): Promise<Answer<'unpin'>> {
    return this.call('unpin', options);
  }

  /** Deletes a snapshot. One that others need, or that is pinned, only goes by `force`. */
  delete(options: CallOptions<'delete'>): Promise<Answer<'delete'>> {
    return this.call('delete', options);
  }

  /** Takes in a backup that the SDK made directly. */
  import(options: CallOptions<'import'>): Promise<Answer<'import'>> {
    return this.call('import', options);
  }

  /** The tree of sandboxes and snapshots that a sandbox belongs to. */
  lineage(options: CallOptions<'lineage'>): Promise<Answer<'lineage'>> {
    return this.call('lineage', options);
  }

  /** The policy of a sandbox, and what it means for each of its snapshots now. */
  retention(options: CallOptions<'retention'>): Promise<Answer<'retention'>> {
    return this.call('retention', options);
  }

  /** Gives a sandbox another policy, which is applied at once. */
  setRetention(options: CallOptions<'setRetention'>): Promise<Answer<'setRetention'>> {
    return this.call('setRetention', options);
  }

  /** Lets go what the policy says. */
  applyRetention(options: CallOptions<'applyRetention'>): Promise<Answer<'applyRetention'>> {
    return this.call('applyRetention', options);
  }

  /** Signs refs with a new key from now on. The one before is still accepted. */
  rotateKey(options: CallOptions<'rotateKey'>): Promise<Answer<'rotateKey'>> {
    return this.call('rotateKey', options);
  }

  /** Deletes what carries the snapshotter's mark in R2 and belongs to no sandbox's snapshots. */
  sweep(options: CallOptions<'sweep'> = {}): Promise<Answer<'sweep'>> {
    return this.call('sweep', options);
  }

  /** Looks whether the deployment is fit for work. */
  health(options: CallOptions<'health'> = {}): Promise<Answer<'health'>> {
    return this.call('health', options);
  }

  /** The tools for some workspaces, in the forms that model APIs take, with what answers their calls. */
  async toolset({ signal, retry, ...declaration }: Toolset & Control): Promise<ModelTools> {
    const { tools } = await this.tools.list({ ...declaration, signal, retry });
    return new ModelTools(this.tools, declaration, tools);
  }
}
