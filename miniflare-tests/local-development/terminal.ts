// Commands that run until they are interrupted, as in a terminal.

import { spawn, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

import { environment } from '../../scripts/setup.mjs';

/** A running command. */
export class Command implements AsyncDisposable {
  /** What it has printed so far, without colors. */
  output = '';
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #closed: Promise<unknown>;
  #changed = Promise.withResolvers<void>();

  constructor(command: string[], options: { cwd: string; env?: NodeJS.ProcessEnv }) {
    const [program = '', ...args] = command;
    this.#child = spawn(program, args, {
      cwd: options.cwd,
      env: environment({ ...options.env, NO_COLOR: '1', FORCE_COLOR: '0' }),
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true, // Its own process group, which ends as a whole.
    });
    this.#ended = once(this.#child, 'exit');
    this.#closed = once(this.#child, 'close');
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.output += text;
        this.#notify();
      });
    this.#ended.then(() => this.#notify());
  }

  #notify() {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  /** The id of the process. */
  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** The exit status; `null` while it runs. */
  get status(): number | null {
    return this.#child.exitCode;
  }

  /** Waits until the output matches, and returns the match. Throws if the command ends before. */
  async prints(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.output);
      if (match) return match;
      if (this.status !== null) throw new Error(`It ended with ${this.status}:\n${this.output}`);
      await this.#changed.promise;
    }
  }

  /** Presses Ctrl-C, and waits for the end. Returns the exit status. */
  async interrupt(): Promise<number | null> {
    this.#child.kill('SIGINT');
    return this.ended();
  }

  /** Closes its terminal, so that it cannot print any more, and waits for the end. Returns the exit status. */
  async closeTerminal(): Promise<number | null> {
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
    this.#child.kill('SIGHUP');
    return this.ended();
  }

  /** Waits for the end. Returns the exit status. */
  async ended(): Promise<number | null> {
    await this.#ended;
    return this.status;
  }

  /** Waits until all of its processes have ended. */
  async closed(): Promise<void> {
    await this.#closed;
  }

  async [Symbol.asyncDispose]() {
    const { pid, signalCode } = this.#child;
    if (pid !== undefined && this.status === null && signalCode === null) process.kill(-pid, 'SIGKILL');
    await this.#ended;
  }
}

/**
 * Returns a free port of 127.0.0.1 whose next port is free as well. It is none of those that the system assigns by itself: a server
 * of another test could get it before it is used.
 */
export async function freePorts(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_000);
    const servers = await Promise.all([port, port + 1].map((each) => listen(each).catch(() => undefined)));
    for (const server of servers) server?.close();
    if (servers.every((server) => server !== undefined)) return port;
  }
}

/** Listens on a port of 127.0.0.1; 0 for any free port. */
export async function listen(port: number) {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
