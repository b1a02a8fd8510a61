// The command line, as people and scripts run it.

import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server as HttpServer } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import { TOKEN, World, type WorldOptions } from '../world.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const BINARY =
  process.env.SNAPSHOTTER_CLI ?? resolve(ROOT, process.env.CARGO_TARGET_DIR ?? 'target', 'debug/snapshotter');

/** What a command came to. */
export interface Ended {
  status: number | null;
  stdout: string;
  stderr: string;
}

/** A command that is under way. */
export interface Running {
  child: ChildProcess;
  ended: Promise<Ended>;
}

/** What a command finds. */
export interface Surroundings {
  input?: string | null;
  env?: NodeJS.ProcessEnv;
}

/** What the error in a JSON document says. */
export interface Failed {
  ok: false;
  command: string;
  error: Record<string, any>;
  exitCode: number;
}

/** The program, for one server. */
export class Cli implements AsyncDisposable {
  readonly #env: NodeJS.ProcessEnv;
  readonly #folder: string;

  private constructor(env: NodeJS.ProcessEnv, folder: string) {
    this.#env = env;
    this.#folder = folder;
  }

  /** One that finds its settings in the environment, and no file of settings. */
  static async of(address: URL | string, token: string | undefined = TOKEN): Promise<Cli> {
    const folder = await mkdtemp(join(tmpdir(), 'cli-'));
    const env = { PATH: process.env.PATH, HOME: folder, TERM: 'xterm', SNAPSHOTTER_ADDRESS: `${address}` };
    return new Cli(token === undefined ? env : { ...env, SNAPSHOTTER_TOKEN: token }, folder);
  }

  async [Symbol.asyncDispose]() {
    await rm(this.#folder, { recursive: true });
  }

  /** A file with some text. */
  async file(name: string, content: string, mode = 0o600): Promise<string> {
    const path = join(this.#folder, name);
    await writeFile(path, content, { mode });
    return path;
  }

  /** Begins a command, without a terminal. Where its input is `null`, that does not end. */
  begin(args: string[], { input = '', env = {} }: Surroundings = {}): Running {
    return this.#begin(BINARY, args, input, env);
  }

  /** Begins a command that ignores a signal, as under `nohup`. */
  beginIgnoring(signal: string, args: string[]): Running {
    const command = `trap '' ${signal}; exec "$0" "$@"`;
    return this.#begin('sh', ['-c', command, BINARY, ...args], '', {});
  }

  /** Begins a command on a terminal; what somebody types there is written to its `stdin`. */
  beginOnTerminal(args: string[], env: NodeJS.ProcessEnv = {}): Running {
    const command = [BINARY, ...args].map((word) => `'${word}'`).join(' ');
    return this.#begin('script', ['-qec', command, '/dev/null'], null, env);
  }

  /** Runs a line in a shell, which knows the program as `snapshotter`. */
  shell(line: string): Promise<Ended> {
    return this.#begin('sh', ['-c', `snapshotter() { '${BINARY}' "$@"; }; ${line}`], '', {}).ended;
  }

  #begin(command: string, args: string[], input: string | null, env: NodeJS.ProcessEnv): Running {
    const child = spawn(command, args, { env: { ...this.#env, ...env } });
    // A program that does not read its input may be gone before all of that is written.
    child.stdin.on('error', () => undefined);
    if (input !== null) child.stdin.end(input);
    const status = new Promise<number | null>((close, fail) => child.on('error', fail).on('close', close));
    const ended = Promise.all([status, text(child.stdout), text(child.stderr)]);
    return { child, ended: ended.then(([status, stdout, stderr]) => ({ status, stdout, stderr })) };
  }

  /** Runs a command to its end. */
  run(args: string[], options?: Surroundings): Promise<Ended> {
    return this.begin(args, options).ended;
  }

  /** What a command prints that must succeed, without telling anything else. */
  async print(...args: string[]): Promise<string> {
    const { status, stdout, stderr } = await this.run(args);
    assert.deepEqual([status, stderr], [0, ''], stdout);
    return stdout;
  }

  /** The one line that a command prints with `--quiet`. */
  async id(...args: string[]): Promise<string> {
    const printed = await this.print(...args, '--quiet');
    assert.match(printed, /^[^\n]+\n$/);
    return printed.trimEnd();
  }

  /** The document that a command prints with `--json`. */
  async json(...args: string[]): Promise<any> {
    const printed = await this.print(...args, '--json');
    assert.match(printed, /^[^\n]+\n$/);
    return JSON.parse(printed);
  }

  /** The failure that a command ends with, which is the same in both forms. */
  async failure(...args: string[]): Promise<Failed> {
    const [people, program] = [await this.run(args), await this.run([...args, '--json'])];
    const failed = JSON.parse(program.stdout) as Failed;
    assert.deepEqual([program.status, program.stderr, people.stdout], [failed.exitCode, '', '']);
    assert.deepEqual([people.status, failed.ok], [failed.exitCode, false]);
    const told =
      people.stderr.startsWith(`error[${failed.error.code}]: `) || failed.error.code === 'INVALID_USAGE';
    assert.ok(told, people.stderr);
    return failed;
  }

  /** The code of a failure, and the exit status. */
  async code(...args: string[]): Promise<[string, number]> {
    const { error, exitCode } = await this.failure(...args);
    return [error.code, exitCode];
  }
}

/** A world whose snapshotter has an address, and the program for it. */
export async function start(options: WorldOptions = {}): Promise<{ world: World; cli: Cli }> {
  const world = await World.start({ ...options, snapshotter: { port: 0, ...options.snapshotter } });
  return { world, cli: await Cli.of(await world.url('/')) };
}

/** Serves something else on a port of this machine while `use` runs. */
export async function serving<T>(server: Server, use: (address: string) => Promise<T>): Promise<T> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.close();
    if ('closeAllConnections' in server) (server as HttpServer).closeAllConnections();
  }
}

/** A web server that answers every request in one way, and notes the headers. */
export function web(answer: RequestListener, seen: (string | undefined)[] = []): HttpServer {
  return createServer((request, response) => {
    seen.push(request.headers.authorization);
    answer(request, response);
  });
}
