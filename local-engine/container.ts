/** The container of one sandbox: its process tree, from the start to the end. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { PATH } from './host.ts';
import { Listed, type Spec } from './listed.ts';

/** A call that the Sandbox class made into a container, before the container carries it out. */
export interface Call {
  containerId: string;
  /** The Durable Object's id, in hex. */
  sandboxId: string;
  /** For example `backup.createArchive`, `files.writeFileStream` or `commands.execute`. */
  method: string;
  /** The command line, for methods that take one. */
  command?: string;
}

/** What all containers of an engine share. */
export interface Host {
  /** The engine's folder; holds the bundled container server. */
  readonly folder: string;
  /** The options with which `unshare` works on this machine. */
  readonly unshare: string[];
  /** Whether the folder holds `ca.pem`, the certificates that sandboxes trust. */
  readonly trusts: boolean;
  readonly onCall?: ((call: Call) => void | Promise<void>) | undefined;
}

type Question = { call: number; method: string; command?: string };

/** A sandbox's container. */
export class Container extends Listed {
  /** The Durable Object's id, in hex, which workerd puts into the container's name. */
  readonly sandboxId: string;
  readonly #host: Host;
  readonly #folder: string;
  #process: ChildProcess | undefined;
  #pid: Promise<number | undefined> = Promise.resolve(undefined);
  #killed: string | undefined;

  constructor(spec: Spec, host: Host) {
    super(spec);
    this.sandboxId = /[0-9a-f]{64}/.exec(spec.name)?.[0] ?? spec.name;
    this.#host = host;
    this.#folder = join(host.folder, this.id.slice(0, 8));
  }

  /** The socket on which the server inside answers. */
  get socket(): string {
    return join(this.#folder, 'io', 's');
  }

  async start(): Promise<void> {
    mkdirSync(join(this.#folder, 'io'), { recursive: true });
    const script = join(import.meta.dirname, 'enter.sh');
    const certificates = this.#host.trusts ? '/opt/local-engine/ca.pem' : undefined;
    const added = [`CLOUDFLARE_PLACEMENT_ID=local-${this.id}`];
    if (certificates !== undefined) added.push(`CURL_CA_BUNDLE=${certificates}`);
    const enter = ['unshare', ...this.#host.unshare, 'bash', script, this.#folder, process.execPath];
    // The parent-death signal and --kill-child end the sandbox with the engine, however the engine ends.
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
      detached: true, // a Ctrl-C is for the engine to act on
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
      child.on('message', (message: Question | 'ready') =>
        message === 'ready' ? resolve() : void this.#answer(message),
      );
    });
    const early = this.ended.then(() => {
      if (!this.#killed) throw new Error(`The sandbox ended at its start: ${output.trim()}`);
    });
    await Promise.race([ready, early]);
  }

  /** SIGKILL ends the container at once; anything else asks its server to end. */
  async kill(signal = 'SIGKILL'): Promise<void> {
    if (this.state !== 'running') return;
    this.#killed = signal;
    if (signal !== 'SIGKILL' && this.#process?.connected) {
      this.#process.send('stop');
    } else {
      const pid = await this.#pid;
      if (this.state === 'running' && pid !== undefined) killIfThere(pid);
    }
    await this.ended;
  }

  #finish(code: number, output: string): void {
    if (code !== 0 && !this.#killed) console.error(`local-engine: ${this.spec.name}: ${output}`);
    this.state = 'exited';
    // unshare has a status of its own when what it waits for is killed.
    this.exitCode = this.#killed === 'SIGKILL' ? 137 : code;
    void rm(this.#folder, { recursive: true, force: true }).finally(this.end);
  }

  async #answer({ call, ...what }: Question): Promise<void> {
    let error: string | undefined;
    try {
      await this.#host.onCall?.({ containerId: this.id, sandboxId: this.sandboxId, ...what });
    } catch (thrown) {
      error = thrown instanceof Error ? thrown.message : String(thrown);
    }
    if (this.#process?.connected) this.#process.send({ call, error }, () => {});
  }
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // It may have ended by itself, and not be known here to have.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
