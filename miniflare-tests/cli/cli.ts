// Fixtures that run the command line.

import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server as HttpServer } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

import { inTarget } from '../../scripts/setup.mjs';
import { TOKEN, World, type WorldOptions } from '../world.ts';

const BINARY = process.env.SNAPSHOTTER_CLI ?? inTarget('debug/snapshotter');

/** The result of a command. */
export interface CommandResult {
  status: number | null;
  stdout: string;
  stderr: string;
}

/** A command in progress. */
export interface RunningCommand {
  child: ChildProcess;
  ended: Promise<CommandResult>;
}

/** The input and the environment of a command. */
export interface CommandOptions {
  input?: string | null;
  env?: NodeJS.ProcessEnv;
}

/** The JSON document of a failure. */
export interface FailureDocument {
  ok: false;
  command: string;
  error: Record<string, any>;
  exitCode: number;
}

/** The answer of a fake server to `list` and `lineage`: a running sandbox without snapshots. */
export const EMPTY = {
  snapshots: [],
  root: { sandboxId: 'origin', running: true, snapshots: [] },
  sandboxes: 1,
  truncated: false,
};

/** The program, configured for one server. */
export class Cli implements AsyncDisposable {
  readonly #env: NodeJS.ProcessEnv;
  readonly #folder: string;

  private constructor(env: NodeJS.ProcessEnv, folder: string) {
    this.#env = env;
    this.#folder = folder;
  }

  /** Configures the program with environment variables, without a configuration file. */
  static async create(address: URL | string, token: string | undefined = TOKEN): Promise<Cli> {
    const folder = await mkdtemp(join(tmpdir(), 'cli-'));
    const env = { PATH: process.env.PATH, HOME: folder, TERM: 'xterm', SNAPSHOTTER_ADDRESS: `${address}` };
    return new Cli(token === undefined ? env : { ...env, SNAPSHOTTER_TOKEN: token }, folder);
  }

  async [Symbol.asyncDispose]() {
    await rm(this.#folder, { recursive: true });
  }

  /** Writes a file, and returns its path. */
  async file(name: string, content: string, mode = 0o600): Promise<string> {
    const path = join(this.#folder, name);
    await writeFile(path, content, { mode });
    return path;
  }

  /** Starts a command without a terminal. If its input is `null`, the standard input stays open. */
  begin(args: string[], { input = '', env = {} }: CommandOptions = {}): RunningCommand {
    return this.#begin(BINARY, args, input, env);
  }

  /** Starts a command that ignores a signal, as under `nohup`. */
  beginIgnoring(signal: string, args: string[]): RunningCommand {
    const command = `trap '' ${signal}; exec "$0" "$@"`;
    return this.#begin('sh', ['-c', command, BINARY, ...args], '', {});
  }

  /** Starts a command on a terminal. Its `stdin` is the keyboard. */
  beginOnTerminal(args: string[], env: NodeJS.ProcessEnv = {}): RunningCommand {
    const command = [BINARY, ...args].map((word) => `'${word}'`).join(' ');
    return this.#begin('script', ['-qec', command, '/dev/null'], null, env);
  }

  /** Runs a line in a shell, in which `snapshotter` is the program. */
  shell(line: string, shell = 'sh'): Promise<CommandResult> {
    return this.#begin(shell, ['-c', `snapshotter() { '${BINARY}' "$@"; }; ${line}`], '', {}).ended;
  }

  #begin(command: string, args: string[], input: string | null, env: NodeJS.ProcessEnv): RunningCommand {
    const child = spawn(command, args, { env: { ...this.#env, ...env } });
    // A program that does not read its input may exit before all of the input is written.
    child.stdin.on('error', () => undefined);
    if (input !== null) child.stdin.end(input);
    const status = new Promise<number | null>((close, fail) => child.on('error', fail).on('close', close));
    const ended = Promise.all([status, text(child.stdout), text(child.stderr)]);
    return { child, ended: ended.then(([status, stdout, stderr]) => ({ status, stdout, stderr })) };
  }

  /** Runs a command until it ends. */
  run(args: string[], options?: CommandOptions): Promise<CommandResult> {
    return this.begin(args, options).ended;
  }

  /** Runs a command that must succeed without warnings, and returns its output. */
  async print(...args: string[]): Promise<string> {
    const { status, stdout, stderr } = await this.run(args);
    assert.deepEqual([status, stderr], [0, ''], stdout);
    return stdout;
  }

  /** Returns the single line that a command prints with `--quiet`. */
  async id(...args: string[]): Promise<string> {
    const printed = await this.print(...args, '--quiet');
    assert.match(printed, /^[^\n]+\n$/);
    return printed.trimEnd();
  }

  /** Returns the document that a command prints with `--json`. */
  async json(...args: string[]): Promise<any> {
    const printed = await this.print(...args, '--json');
    assert.match(printed, /^[^\n]+\n$/);
    return JSON.parse(printed);
  }

  /** Returns the failure of a command, which must be the same in both output modes. */
  async failure(...args: string[]): Promise<FailureDocument> {
    const [asText, asJson] = [await this.run(args), await this.run([...args, '--json'])];
    const failure = JSON.parse(asJson.stdout) as FailureDocument;
    assert.deepEqual([asJson.status, asJson.stderr, asText.stdout], [failure.exitCode, '', '']);
    assert.deepEqual([asText.status, failure.ok], [failure.exitCode, false]);
    const isReported =
      asText.stderr.startsWith(`error[${failure.error.code}]: `) || failure.error.code === 'INVALID_USAGE';
    assert.ok(isReported, asText.stderr);
    return failure;
  }

  /** Returns the code of a failure, and the exit status. */
  async code(...args: string[]): Promise<[string, number]> {
    const { error, exitCode } = await this.failure(...args);
    return [error.code, exitCode];
  }
}

/** Starts a world whose snapshotter has an HTTP address, and configures the program for it. */
export async function start(options: WorldOptions = {}): Promise<{ world: World; cli: Cli }> {
  const world = await World.start({ ...options, snapshotter: { port: 0, ...options.snapshotter } });
  return { world, cli: await Cli.create(await world.url('/')) };
}

/** Runs `use` with the address of a fake server on this machine. */
export async function withServer<T>(server: Server, use: (address: string) => Promise<T>): Promise<T> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.close();
    if ('closeAllConnections' in server) (server as HttpServer).closeAllConnections();
  }
}

/** Creates an HTTP server that answers every request with `answer`, and records the `Authorization` headers. */
export function fakeServer(answer: RequestListener, tokens: (string | undefined)[] = []): HttpServer {
  return createServer((request, response) => {
    tokens.push(request.headers.authorization);
    answer(request, response);
  });
}
