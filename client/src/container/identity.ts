/**
 * The identity of a container: one run of a container has one id, which is stored before the container starts. A label of the
 * container has the id, and so has a file in it, which every capture and restore compares in its own command.
 */
import type { Expected } from './archives.ts';
import { SandboxError } from './errors.ts';
import { run, sh } from './process.ts';

/** The label of a container that contains its id. Names of labels have at most 16 bytes. */
const LABEL = 'snapshotter-id';

/** The file in a container that contains its id. A snapshot of the platform does not contain `/run`. */
const ID_FILE = '/run/sandbox-snapshotter.container';

/** The key of the {@link ContainerRun} in the storage of the object. */
const KEY = 'sandbox-snapshotter:container';

/** The key of the name of the image that `configure` chose. */
export const CHOSEN_IMAGE = 'sandbox-snapshotter:image';

/** The programs that the class uses where an image has them. */
const TOOLS = ['timeout', 'mksquashfs', 'unsquashfs', 'tar', 'gzip', 'zstd', 'find', 'git'] as const;

/** A program that the class uses. */
export type Tool = (typeof TOOLS)[number];

/** The exit code of a script in another container than the expected one. */
export const OTHER_CONTAINER = 113;

/** Ends a script unless it runs in the container with the id `$1`, and removes the id from its arguments. */
export const ASSERT_CONTAINER = `[ "$(cat ${ID_FILE} 2>/dev/null)" = "$1" ] || exit ${OTHER_CONTAINER}; shift`;

/** Writes the id `$1` unless there is one, and prints the id and the programs of the image. Creates the directory `$2`. */
const MARK = `set -C; { echo "$1" >${ID_FILE}; } 2>/dev/null; cat ${ID_FILE} || exit
for t in ${TOOLS.join(' ')}; do command -v $t >/dev/null && echo $t; done; mkdir -p -- "$2"`;

/** What the object stores about its container. */
export interface ContainerRun {
  /** The id of the container that runs, or starts; absent where none should run. */
  id?: string | undefined;
  /** Whether the container accepted a command. */
  ready: boolean;
  /** When the container was started or was found to have ended, in milliseconds since 1970. */
  changedAt: number;
  /** The programs of its image. */
  tools: string[];
  /** The image that it was started from. Undefined where the class did not select one, or started a snapshot of the platform. */
  image?: string | undefined;
}

/** Starts the container of an object, and recognizes it. */
export class ContainerIdentity {
  readonly #ctx: DurableObjectState;
  readonly #options: () => ContainerStartupOptions;
  readonly #dir: string;
  #starting: Promise<ContainerRun> | undefined;
  #adopting: Promise<ContainerRun> | undefined;
  #ending: Promise<void> = Promise.resolve();

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
   * Returns the state of the container, and starts none. A container that has ended is not the object's: `running` can be true
   * for a container that is gone. One that the application started gets an id. During a start, the state is the stored one.
   */
  async current(): Promise<ContainerRun> {
    const { stored } = this;
    return this.#starting && stored.id && !stored.ready ? stored : this.#observe();
  }

  /** Returns whether the container answers. `running` and `inspect` report only later that it ended. */
  answers(): Promise<boolean> {
    return run(this.#container, ['true']).then(
      ({ exitCode }) => !exitCode,
      ({ code }) => code === 'TOOL_MISSING',
    );
  }

  /** Has the next call write the id of the container again: a command may have deleted its file. */
  refresh(): void {
    this.#store({ ...this.stored, ready: false });
  }

  async #observe(): Promise<ContainerRun> {
    await this.#ending;
    const { id } = this.stored;
    const info = this.#container.running ? await this.#container.inspect() : null;
    const isOwn = info && id && (await this.#hasId(info, id));
    // Another call may have replaced the container in the meantime.
    if (isOwn || this.stored.id !== id) return this.stored;
    if (!info) return id ? this.#change() : this.stored;
    this.#adopting ??= this.#adopt().finally(() => (this.#adopting = undefined));
    return this.#adopting;
  }

  /** Gives an id to a container that the application started. */
  async #adopt(): Promise<ContainerRun> {
    const run = await this.#begin();
    return this.#mark(run).catch(() => this.stored); // It is not ready.
  }

  /** Returns the running container. Throws unless it is the expected one; starts none. */
  async expect(expected: Expected): Promise<ContainerRun> {
    const current = await this.current();
    const run = current.id ? await this.#mark(current) : current;
    const { id, changedAt } = run;
    const { expectedContainer = id, expectedLastChange = changedAt } = expected;
    if (id && expectedContainer === id && expectedLastChange === changedAt) return run;
    throw new SandboxError('CONTAINER_REPLACED', 'The container was replaced.');
  }

  /**
   * Returns whether the container has an id: by its label, or by its file where workerd has lost the label. Throws where the
   * file can't be read: nothing shows that it is another container.
   */
  async #hasId({ labels }: ContainerInfo, id: string): Promise<boolean> {
    const label = labels[LABEL];
    if (label !== undefined) return label === id;
    const read = sh(`[ ! -e ${ID_FILE} ] || cat ${ID_FILE}`);
    const { exitCode, stdout, stderr } = await run(this.#container, read);
    if (exitCode) throw notReady(stderr);
    return stdout.trim() === id;
  }

  /**
   * Returns the running container, and starts it where none runs: from a snapshot of the platform, or from the image. Concurrent
   * calls start one container.
   */
  ensure(snapshot?: ContainerSnapshotRestoreParams): Promise<ContainerRun> {
    this.#starting ??= this.#ensure(snapshot).finally(() => (this.#starting = undefined));
    return this.#starting;
  }

  /** Ends the container. */
  end(): Promise<void> {
    if (this.stored.id) this.#change();
    const ended = this.#container.running ? this.#container.destroy() : Promise.resolve();
    this.#ending = ended.catch(() => {});
    return ended;
  }

  async #ensure(containerSnapshot = this.#options().containerSnapshot): Promise<ContainerRun> {
    const current = await this.#observe();
    if (current.id) return this.#mark(current);
    if (this.#container.running) await this.#container.destroy().catch(() => {}); // It is gone.
    const image = containerSnapshot ? undefined : this.image;
    if (!containerSnapshot && !image && this.#chosen)
      throw new SandboxError(
        'CONTAINER_UNAVAILABLE',
        `The class has no image ${this.#chosen}. Add it to [[containers]].`,
      );
    const run = await this.#begin(image);
    const { labels, ...options } = this.#options();
    this.#container.start({
      ...options,
      labels: { ...labels, [LABEL]: run.id },
      image,
      containerSnapshot,
    } as unknown as ContainerStartupOptions);
    return this.#mark(run);
  }

  /** Stores the id of a container before a container can have it. */
  async #begin(image?: string): Promise<ContainerRun> {
    const run = this.#change(crypto.randomUUID(), image);
    await this.#ctx.storage.sync();
    return run;
  }

  get #chosen(): string | null | undefined {
    return this.#ctx.storage.kv.get<string | null>(CHOSEN_IMAGE);
  }

  /**
   * The image of the next container: the chosen one, that of the options, or the only one of the class. Undefined where the
   * platform selects it.
   */
  get image(): string | undefined {
    const { images } = this.#container;
    if (this.#chosen) return images[this.#chosen];
    const [image, other] = Object.values(images);
    return this.#options().image ?? (other ? undefined : image);
  }

  /** Runs the first command in a container, unless it is ready. */
  async #mark(state: ContainerRun): Promise<ContainerRun> {
    if (state.ready) return state;
    const mark = sh(MARK, state.id as string, this.#dir);
    const { exitCode, stdout, stderr } = await run(this.#container, mark);
    if (exitCode) throw notReady(stderr);
    if (this.stored.id !== state.id) throw new SandboxError('OPERATION_INTERRUPTED', 'The container ended.');
    const [id, ...tools] = stdout.trim().split('\n');
    return this.#store({ ...state, id: id as string, ready: true, tools });
  }

  /** Stores that another container, or none, runs. No two changes have the same time. */
  #change(id?: string, image?: string): ContainerRun {
    const changedAt = Math.max(Date.now(), this.stored.changedAt + 1);
    return this.#store({ id, ready: false, changedAt, tools: [], image });
  }

  #store(run: ContainerRun): ContainerRun {
    this.#ctx.storage.kv.put(KEY, run);
    return run;
  }
}

const notReady = (stderr: string) =>
  new SandboxError('CONTAINER_UNAVAILABLE', `The container is not ready: ${stderr.trim()}`);

/** Throws unless the image has the programs. */
export function requireTool(state: ContainerRun, ...tools: Tool[]): void {
  const tool = tools.find((each) => !state.tools.includes(each));
  const name = tool?.replace('unsquashfs', 'squashfs-tools');
  if (name) throw new SandboxError('TOOL_MISSING', `The image has no ${tool}. Install ${name} in the image.`);
}
