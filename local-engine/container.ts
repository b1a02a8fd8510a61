/** The container of one sandbox: starts and ends its process tree. */
import { spawn, type ChildProcess } from 'node:child_process';
import { linkSync, mkdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { BaseContainer, type Spec } from './base-container.ts';
import { PATH } from './host.ts';
import type { Image } from './images.ts';

/** A call of the Sandbox class to a container, before the container executes it. */
export interface Call {
  containerId: string;
  /** The id of the Durable Object, in hex. */
  sandboxId: string;
  /**
   * For example `backup.createArchive`, `files.writeFileStream` or `commands.execute`; `container.exec` for an exec, and
   * `container.commit` for a snapshot.
   */
  method: string;
  /** The command line, for methods that take one. */
  command?: string;
}

/** The configuration that all containers of an engine share. */
export interface Host {
  /** The folder of the engine, with the bundled container server. */
  readonly folder: string;
  /** The options of `unshare` that work on this machine. */
  readonly unshare: string[];
  /** Whether the folder contains `ca.pem`, the certificates that sandboxes trust. */
  readonly hasCertificates: boolean;
  /** Whether the files of a container are on the disk of the host, and not in its memory. */
  readonly disk: boolean;
  readonly onCall?: ((call: Call) => void | Promise<void>) | undefined;
}

type CallQuery = { call: number; method: string; command?: string };

/**
 * What a container without a server runs, unless its request names something else. It has a name of its own, so that no `pkill`
 * of a program ends the container.
 */
const DEFAULT_ENTRYPOINT = [
  'bash',
  '-c',
  'printf entrypoint >/proc/self/comm; unset TMOUT; exec 3<> <(:); read -ru 3',
];

/** A sandbox's container. */
export class Container extends BaseContainer {
  /** The id of the Durable Object, in hex. workerd puts it into the name of the container. */
  readonly sandboxId: string;
  readonly image: Image;
  readonly #host: Host;
  readonly #folder: string;
  #process: ChildProcess | undefined;
  #started: Promise<number | undefined> = Promise.resolve(undefined);
  #pid: number | undefined;
  #killSignal: string | undefined;

  constructor(spec: Spec, image: Image, host: Host) {
    super(spec);
    this.image = image;
    this.sandboxId = /[0-9a-f]{64}/.exec(spec.name)?.[0] ?? spec.name;
    this.#host = host;
    this.#folder = join(host.folder, this.id.slice(0, 8));
  }

  /** The socket of the server inside; undefined if the container does not run, or has no server. */
  get socket(): string | undefined {
    return this.state === 'running' && this.image.hasServer ? join(this.#folder, 'io', 's') : undefined;
  }

  /** The root directory of the container, as a path of the host; undefined if it does not run. */
  get root(): string | undefined {
    return this.state === 'running' && this.#pid !== undefined ? `/proc/${this.#pid}/root` : undefined;
  }

  /** The options of `nsenter` for a command in the container. */
  get namespaces(): string[] {
    const user = this.#host.unshare.includes('--user') ? ['--user', '--preserve-credentials'] : [];
    return ['--target', String(this.#pid), '--mount', '--pid', ...user, '--'];
  }

  /** Waits for the engine's `onCall` before a call. */
  async announce(method: string, command = ''): Promise<void> {
    const { id, sandboxId } = this;
    await this.#host.onCall?.({ containerId: id, sandboxId, method, command });
  }

  async start(): Promise<void> {
    mkdirSync(join(this.#folder, 'io'), { recursive: true });
    if (this.image.archive !== undefined) linkSync(this.image.archive, join(this.#folder, 'files.tar'));
    const script = join(import.meta.dirname, 'enter.sh');
    const certificates = this.#host.hasCertificates ? '/opt/local-engine/ca.pem' : undefined;
    const added = [`CLOUDFLARE_PLACEMENT_ID=local-${this.id}`];
    if (this.image.version !== undefined) added.push(`SANDBOX_VERSION=${this.image.version}`);
    if (certificates !== undefined) added.push(`CURL_CA_BUNDLE=${certificates}`);
    const { entrypoint, env: variables } = this.spec;
    const program = entrypoint.length > 0 ? entrypoint : DEFAULT_ENTRYPOINT;
    const command = this.image.hasServer ? [] : ['env', '-i', '--', `PATH=${PATH}`, ...variables, ...program];
    const enter = [
      'unshare',
      ...this.#host.unshare,
      'bash',
      script,
      this.#folder,
      process.execPath,
      ...command,
    ];
    // The parent-death signal and --kill-child end the sandbox with the engine, even if the engine is killed.
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', ...enter], {
      env: {
        PATH,
        HOME: '/root',
        LANG: 'C.UTF-8',
        LOCAL_ENGINE_HIDDEN: this.image.hidden.join(' '),
        LOCAL_ENGINE_DISK: this.#host.disk ? '1' : '',
        LOCAL_ENGINE_ENV: JSON.stringify([...this.spec.env, ...added]),
        ...(certificates && { NODE_EXTRA_CA_CERTS: certificates }),
        ...(this.#host.onCall && { LOCAL_ENGINE_ASK: '1' }),
      },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      detached: true, // Ctrl-C must reach the engine only
    });
    this.#process = child;
    this.state = 'running';

    let output = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-4000)));
    const lines = createInterface({ input: child.stdout! });
    this.#started = new Promise((resolve) => {
      lines.once('line', (line) => resolve((this.#pid = Number(line))));
      lines.once('close', () => resolve(undefined));
    });
    child.on('error', (error) => (output ||= error.message));
    child.once('close', (code) => this.#finish(code ?? 137, output.trim()));
    const ready = new Promise<void>((resolve) => {
      if (!this.image.hasServer) lines.on('line', (line) => line === 'entered' && resolve());
      child.on('message', (message: CallQuery | 'ready') =>
        message === 'ready' ? resolve() : void this.#answer(message),
      );
    });
    const failed = this.ended.then(() => {
      if (!this.#killSignal) throw new Error(`The sandbox ended during its start: ${output.trim()}`);
    });
    await Promise.race([ready, failed]);
  }

  /** Ends the container: at once by SIGKILL, otherwise by a message to its server. Without a server, sends the signal. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (this.state !== 'running') return;
    this.#killSignal = signal;
    if (signal !== 'SIGKILL' && this.image.hasServer && this.#process?.connected) {
      this.#process.send('stop');
    } else {
      const pid = await this.#started;
      if (this.state === 'running' && pid !== undefined) killIfRunning(pid, signal);
      if (signal !== 'SIGKILL') return; // The program may ignore the signal.
    }
    await this.ended;
  }

  #finish(code: number, output: string): void {
    if (code !== 0 && !this.#killSignal && this.image.hasServer)
      console.error(`local-engine: ${this.spec.name}: ${output}`);
    this.state = 'exited';
    // If its child is killed, unshare exits with another status.
    this.exitCode = this.#killSignal === 'SIGKILL' ? 137 : code;
    void rm(this.#folder, { recursive: true, force: true }).finally(this.end);
  }

  async #answer({ call, ...details }: CallQuery): Promise<void> {
    let error: string | undefined;
    try {
      await this.#host.onCall?.({ containerId: this.id, sandboxId: this.sandboxId, ...details });
    } catch (thrown) {
      error = thrown instanceof Error ? thrown.message : String(thrown);
    }
    if (this.#process?.connected) this.#process.send({ call, error }, () => {});
  }
}

function killIfRunning(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // The process may have ended already, before its `close` event.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
