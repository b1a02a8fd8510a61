/**
 * The identity of a container: one run of a container has one id, which is stored before the container starts. A label of the
 * container has the id, and so has a file in it, which every capture and restore compares in its own command.
 */
import { SandboxError } from './errors.ts';
import { run } from './process.ts';

/** The label of a container that contains its id. Names of labels have at most 16 bytes. */
const LABEL = 'snapshotter-id';

/** The file in a container that contains its id. A snapshot of the platform does not contain `/run`. */
const ID_FILE = '/run/sandbox-snapshotter.container';

/** The key of the {@link ContainerRun} in the storage of the object. */
const KEY = 'sandbox-snapshotter:container';

/** The programs that the class uses where an image has them. */
const TOOLS = [
  'bash',
  'timeout',
  'mktemp',
  'mksquashfs',
  'unsquashfs',
  'tar',
  'gzip',
  'zstd',
  'find',
  'git',
] as const;

/** A program that the class uses. */
export type Tool = (typeof TOOLS)[number];

/** The exit code of a script in another container than the expected one. */
export const OTHER_CONTAINER = 113;

/** Ends a script unless it runs in the container with the id `$1`, and removes the id from its arguments. */
export const ASSERT_CONTAINER = `[ "$(cat ${ID_FILE} 2>/dev/null)" = "$1" ] || exit ${OTHER_CONTAINER}; shift
`;

/** Writes the id `$1` unless there is one, and lists the programs of the image. */
const MARK = `set -C; { echo "$1" >${ID_FILE}; } 2>/dev/null
set +C
${ASSERT_CONTAINER}for t in ${TOOLS.join(' ')}; do command -v $t >/dev/null && echo $t; done; mkdir -p -- "$1"`;

/** What the object stores about its container. */
export interface ContainerRun {
  /** The id of the container that runs, or starts; absent where none should run. */
  id?: string;
  /** Whether the container accepted a command. */
  ready: boolean;
  /** When the container was started or was found to have ended, in milliseconds since 1970. */
  changedAt: number;
  /** The programs of its image. */
  tools: string[];
}

/** Starts the container of an object, and recognizes it. */
export class ContainerIdentity {
  readonly #ctx: DurableObjectState;
  readonly #options: () => ContainerStartupOptions;
  readonly #dir: string;
  #starting: Promise<ContainerRun> | undefined;

  /** `options` returns the options of each start. The directory `dir` is created in each container. */
  constructor(ctx: DurableObjectState, options: () => ContainerStartupOptions, dir: string) {
    this.#ctx = ctx;
    this.#dir = dir;
    this.#options = options;
  }

  get #container(): Container {
    if (this.#ctx.container) return this.#ctx.container;
    throw new SandboxError('CONTAINER_UNAVAILABLE', 'The class has no container. Add it to [[containers]].');
  }

  /** The stored state. */
  get stored(): ContainerRun {
    return this.#ctx.storage.kv.get<ContainerRun>(KEY) ?? { ready: false, changedAt: 0, tools: [] };
  }

  /**
   * Returns the state of the container, and starts none. A container that has ended, or was not started for the stored id,
   * is not the object's: `running` can be true for a container that is gone.
   */
  async current(): Promise<ContainerRun> {
    const stored = this.stored;
    if (stored.id === undefined) return stored;
    const isOwn = await this.#isRunning(stored.id);
    // Another call may have replaced the container in the meantime.
    if (isOwn || this.stored.id !== stored.id) return this.stored;
    return this.#store({ ready: false, changedAt: Date.now(), tools: [] });
  }

  /** Returns whether the container with an id runs: by its label, or by its file where workerd has lost the label. */
  async #isRunning(id: string): Promise<boolean> {
    const info = this.#container.running ? await this.#container.inspect() : null;
    const label = info?.labels[LABEL];
    if (info === null || label !== undefined) return label === id;
    try {
      const { stdout } = await run(this.#container, ['cat', ID_FILE]);
      return stdout.trim() === id;
    } catch {
      return false; // It ended.
    }
  }

  /** Returns the running container, and starts it where none runs. Concurrent calls start one container. */
  ensure(): Promise<ContainerRun> {
    this.#starting ??= this.#ensure().finally(() => (this.#starting = undefined));
    return this.#starting;
  }

  /** Ends the container. */
  async end(): Promise<void> {
    if (this.stored.id !== undefined) this.#store({ ready: false, changedAt: Date.now(), tools: [] });
    if (this.#container.running) await this.#container.destroy();
  }

  async #ensure(): Promise<ContainerRun> {
    const current = await this.current();
    if (current.id !== undefined && current.ready) return current;
    if (current.id === undefined) {
      if (this.#container.running) await this.#container.destroy().catch(() => {});
      return this.#start();
    }
    return this.#mark(current); // The object ended after the start.
  }

  async #start(): Promise<ContainerRun> {
    const id = crypto.randomUUID();
    const run = this.#store({ id, ready: false, changedAt: Date.now(), tools: [] });
    await this.#ctx.storage.sync(); // The id is durable before a container can have it.
    const options = this.#options();
    this.#container.start({
      ...options,
      labels: { ...options.labels, [LABEL]: id },
    } as ContainerStartupOptions);
    return this.#mark(run);
  }

  async #mark(state: ContainerRun): Promise<ContainerRun> {
    const id = state.id ?? '';
    const mark = ['/bin/sh', '-c', MARK, 'sh', id, this.#dir];
    const { exitCode, stdout, stderr } = await run(this.#container, mark);
    if (exitCode === OTHER_CONTAINER) {
      await this.end();
      throw new SandboxError('CONTAINER_REPLACED', 'Another container runs. It was ended; try again.');
    }
    if (exitCode !== 0)
      throw new SandboxError('CONTAINER_UNAVAILABLE', `The container did not start: ${stderr.trim()}`);
    if (this.stored.id !== id) throw new SandboxError('OPERATION_INTERRUPTED', 'The container was ended.');
    return this.#store({ ...state, ready: true, tools: stdout.split('\n').filter(Boolean) });
  }

  #store(run: ContainerRun): ContainerRun {
    this.#ctx.storage.kv.put(KEY, run);
    return run;
  }
}

/** Throws unless the image has a program. */
export function requireTool({ tools }: ContainerRun, tool: Tool, debianPackage: string): void {
  if (tools.includes(tool)) return;
  throw new SandboxError('TOOL_MISSING', `The image has no ${tool}. Install ${debianPackage} in the image.`);
}
