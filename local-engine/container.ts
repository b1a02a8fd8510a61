/** The container of one sandbox: starts and ends its process tree. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { BaseContainer, type Spec } from './base-container.ts';
import { PATH } from './host.ts';

/** A call of the Sandbox class to a container, before the container executes it. */
export interface Call {
  containerId: string;
  /** The id of the Durable Object, in hex. */
  sandboxId: string;
  /** For example `backup.createArchive`, `files.writeFileStream` or `commands.execute`. */
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
  readonly onCall?: ((call: Call) => void | Promise<void>) | undefined;
}

type CallQuery = { call: number; method: string; command?: string };

/** A sandbox's container. */
export class Container extends BaseContainer {
  /** The id of the Durable Object, in hex. workerd puts it into the name of the container. */
  readonly sandboxId: string;
  readonly #host: Host;
  readonly #folder: string;
  #process: ChildProcess | undefined;
  #pid: Promise<number | undefined> = Promise.resolve(undefined);
  #killSignal: string | undefined;

  constructor(spec: Spec, host: Host) {
    super(spec);
    this.sandboxId = /[0-9a-f]{64}/.exec(spec.name)?.[0] ?? spec.name;
    this.#host = host;
    this.#folder = join(host.folder, this.id.slice(0, 8));
  }

  /** The socket of the server inside. */
  get socket(): string {
    return join(this.#folder, 'io', 's');
  }

  async start(): Promise<void> {
    mkdirSync(join(this.#folder, 'io'), { recursive: true });
    const script = join(import.meta.dirname, 'enter.sh');
    const certificates = this.#host.hasCertificates ? '/opt/local-engine/ca.pem' : undefined;
    const added = [`CLOUDFLARE_PLACEMENT_ID=local-${this.id}`];
    if (certificates !== undefined) added.push(`CURL_CA_BUNDLE=${certificates}`);
    const enter = ['unshare', ...this.#host.unshare, 'bash', script, this.#folder, process.execPath];
    // The parent-death signal and --kill-child end the sandbox with the engine, even if the engine is killed.
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', ...enter], {
      env: {
        PATH,
        HOME: '/root',
        LANG: 'C.UTF-8',
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
    this.#pid = new Promise((resolve) => {
      lines.once('line', (line) => resolve(Number(line)));
      lines.once('close', () => resolve(undefined));
    });
    child.on('error', (error) => (output ||= error.message));
    child.once('close', (code) => this.#finish(code ?? 137, output.trim()));
    const ready = new Promise<void>((resolve) => {
      child.on('message', (message: CallQuery | 'ready') =>
        message === 'ready' ? resolve() : void this.#answer(message),
      );
    });
    const failed = this.ended.then(() => {
      if (!this.#killSignal) throw new Error(`The sandbox ended during its start: ${output.trim()}`);
    });
    await Promise.race([ready, failed]);
  }

  /** Ends the container: at once by SIGKILL, otherwise by a message to its server. */
  async kill(signal = 'SIGKILL'): Promise<void> {
    if (this.state !== 'running') return;
    this.#killSignal = signal;
    if (signal !== 'SIGKILL' && this.#process?.connected) {
      this.#process.send('stop');
    } else {
      const pid = await this.#pid;
      if (this.state === 'running' && pid !== undefined) killIfRunning(pid);
    }
    await this.ended;
  }

  #finish(code: number, output: string): void {
    if (code !== 0 && !this.#killSignal) console.error(`local-engine: ${this.spec.name}: ${output}`);
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

function killIfRunning(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // The process may have ended already, before its `close` event.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
