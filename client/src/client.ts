import { requireOptions, requireOptionsOf, requireTransport } from './argument-checks.ts';
import { SnapshotterError } from './errors.ts';
import type { Download, DownloadName, DownloadOptions } from './downloads.ts';
import { ExecStream, type ExecStreamOptions } from './exec-stream.ts';
import { afterUncertain, answerLost, rpcUnsupported } from './failures.ts';
import {
  CheckpointOperations,
  CommandOperations,
  FileOperations,
  TokenOperations,
  ToolOperations,
  WorkspaceOperations,
} from './groups.ts';
import { SnapshotMethods } from './methods.ts';
import type { Answer, CallOptions, Control, OperationName, Options } from './operations.ts';
import { iteratePages } from './pages.ts';
import { asSnapshotterError } from './recognize.ts';
import { isRepeatable, withKey } from './repeatability.ts';
import { allowsRetry, hadNoEffect, withRetries, type RetryOptions } from './retry.ts';
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
export class SnapshotterClient extends SnapshotMethods {
  /** The operations on named workspaces, whose files persist across sandboxes. */
  readonly workspaces: WorkspaceOperations;
  /** The operations on checkpoints: named states inside a sandbox that are cheap, local and lost with the container. */
  readonly checkpoints: CheckpointOperations;
  /** The operations on background commands, which run while no caller waits for them. */
  readonly commands: CommandOperations;
  /** The operations on the files of snapshots, and of running sandboxes and workspaces. */
  readonly files: FileOperations;
  /** The operations on tools for language models. */
  readonly tools: ToolOperations;
  /** The operations on access tokens. */
  readonly tokens: TokenOperations;
  readonly #transport: Transport;
  readonly #retry: RetryOptions;
  readonly #newKey: () => string;

  /** Creates a client over `service(binding)`, `rpc(binding)`, `http({ url, token })`, or another transport. */
  constructor(transport: Transport, options: ClientOptions = {}) {
    super();
    requireTransport(transport);
    requireOptions('new SnapshotterClient()', options, () => '{ retry: … } as the second argument, or none');
    const { retry = {}, newKey = () => crypto.randomUUID() } = options;
    this.#transport = transport;
    this.#retry = retry || { attempts: 1 };
    this.#newKey = newKey;
    this.workspaces = new WorkspaceOperations(this);
    this.checkpoints = new CheckpointOperations(this);
    this.commands = new CommandOperations(this);
    this.files = new FileOperations(this);
    this.tools = new ToolOperations(this);
    this.tokens = new TokenOperations(this);
  }

  /** Opens a download by its name. */
  async open<N extends DownloadName>(download: N, options: DownloadOptions<N>): Promise<Download> {
    requireOptions(`${download.replace('/', '.')}()`, options, () => '{ ref: … }');
    const { signal, retry, ...sent }: Control & Record<string, unknown> = { ...options };
    const open = this.#transport.open?.bind(this.#transport);
    if (!open) throw rpcUnsupported(download);
    return this.#attempt({ signal, retry }, true, () => open({ download, options: sent, signal }));
  }

  /** Calls an operation by its name. */
  override call<O extends OperationName>(operation: O, options: CallOptions<O>): Promise<Answer<O>> {
    return this.callWithInput(operation, options, undefined);
  }

  /** As `call`. The content of a file to write is a stream or bytes; a call with a stream is not retried. */
  async callWithInput<O extends OperationName>(
    operation: O,
    options: Partial<CallOptions<O>>,
    input: ReadableStream<Uint8Array> | Uint8Array | undefined,
  ): Promise<Answer<O>> {
    requireOptionsOf(operation, options);
    const { signal, retry, ...given } = options as Control & Record<string, unknown>;
    const sent: Options = withKey(operation, given, this.#newKey);
    const repeatable = isRepeatable(operation, sent);
    const call = { operation, options: sent, ...(input && { input }), signal, repeatable };
    const policy = { signal, retry: input instanceof ReadableStream ? (false as const) : retry };
    return (await this.#attempt(policy, repeatable, () => this.#transport.send(call))) as Answer<O>;
  }

  /** Repeats a call after a transient failure. */
  #attempt<T>({ signal, retry }: Control, repeatable: boolean, send: () => Promise<T>): Promise<T> {
    let uncertain: SnapshotterError | undefined; // The error of the last attempt that may have taken effect.
    const attempt = async () => {
      try {
        return await send();
      } catch (thrown) {
        const error = asSnapshotterError(thrown) ?? answerLost(thrown, repeatable);
        if (!hadNoEffect(error)) uncertain = error;
        throw uncertain && error.code === 'SERVICE_UNREACHABLE' ? afterUncertain(uncertain, error) : error;
      }
    };
    const isRetryable = (thrown: unknown) =>
      thrown instanceof SnapshotterError && allowsRetry(thrown, repeatable);
    const policy = retry === false ? { attempts: 1 } : this.#retry;
    const work = () => withRetries(policy, signal, attempt, isRetryable);
    return untilAborted(signal, work);
  }

  /**
   * Iterates over the snapshots of a sandbox or a workspace, newest first. Requests pages of `limit` on demand.
   *
   * @example
   * for await (const { label } of snapshotter.snapshots({ name: 'notebook' })) console.log(label);
   */
  snapshots(options: CallOptions<'list'>): AsyncGenerator<Summary, void, undefined> {
    const page = (cursor?: string) => this.list({ ...options, ...(cursor && { cursor }) } as typeof options);
    return iteratePages(page, ({ snapshots }) => snapshots);
  }

  /**
   * Runs a command as `exec`, and returns its output while the command runs. It is not retried. Its standard input may be a
   * stream.
   *
   * @example
   * for await (const event of await snapshotter.execStream({ name: 'notebook', command: 'npm test' }))
   *   if (event.type !== 'exit') process[event.type].write(event.data);
   */
  async execStream(options: ExecStreamOptions & { signal?: AbortSignal | undefined }): Promise<ExecStream> {
    requireOptions('execStream()', options, () => '{ name: …, command: … }');
    const { stdin, signal, ...given } = options;
    if (!this.#transport.openExec) throw rpcUnsupported('execStream');
    const [input, text] = stdin instanceof ReadableStream ? [stdin] : [undefined, stdin ?? undefined];
    const sent = text === undefined ? given : { ...given, stdin: text };
    const open = async () => this.#transport.openExec?.({ options: sent, input, signal });
    return new ExecStream((await untilAborted(signal, open)) as ReadableStream<Uint8Array>, signal);
  }

  /**
   * Returns the tools for some workspaces, in the formats of model APIs, with functions that answer tool calls.
   *
   * @example
   * const toolset = await snapshotter.toolset({ workspaces: [{ name: 'notebook', snapshot: true }] });
   * const { tools, answer } = toolset.forAnthropic();
   */
  async toolset(options: Toolset & Control): Promise<ModelTools> {
    requireOptions('toolset()', options, () => '{ workspaces: [{ name: … }] }');
    const { signal, retry, ...declaration } = options;
    const { tools } = await this.tools.list({ ...declaration, signal, retry });
    return new ModelTools(this.tools, declaration, tools);
  }
}
