/**
 * A session: one bash process for all commands, which preserves the directory, variables and functions.
 *
 * As in the published container server, a command writes its output to files in the session's folder in /tmp, and a
 * file with its exit status ends the wait for it. Therefore output loses its last newline and NUL characters, a command
 * continues after its timeout, a syntax error ends the session, and no command ends if a mount hides the folder.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readlinkSync, rmSync, statSync, watch, type FSWatcher } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { SandboxError } from './errors.ts';
import { exitStatus, type RunOptions, type RunResult } from './run.ts';

/** The interval at which a session checks for the end of a command, if no file event arrives, in milliseconds. */
const POLL_MS = 50;
/** The time between SIGTERM and SIGKILL for a deleted session, in milliseconds. */
const GRACE_MS = 1000;

/** Quotes a string for bash. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** A session. Its commands run one after the other. */
export class Shell {
  /** The exit code of the shell; undefined while it runs. */
  exitCode: number | undefined;
  readonly #id: string;
  readonly #ended: Promise<number>;
  readonly #folder: string;
  readonly #process: ChildProcess;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(id: string, cwd: string, env: NodeJS.ProcessEnv) {
    this.#id = id;
    this.#folder = `/tmp/session-${id}-${Date.now()}`;
    mkdirSync(this.#folder, { recursive: true });
    this.#process = spawn('bash', ['--noprofile', '--norc'], {
      cwd: isDirectory(cwd) ? cwd : (env['HOME'] ?? '/root'),
      env: { ...env, LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8' },
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
    this.#ended = new Promise((resolve) => {
      this.#process.once('exit', (code, signal) => resolve((this.exitCode = exitStatus(code, signal))));
      this.#process.once('error', () => resolve((this.exitCode = 127)));
    });
    this.#process.stdin!.on('error', () => {});
  }

  /** The present directory of the session. */
  get cwd(): string {
    try {
      // If the sandbox has the host's /proc, pids refer to other processes there.
      if (readlinkSync('/proc/self') !== String(process.pid)) return '/workspace';
      return readlinkSync(`/proc/${this.#process.pid}/cwd`);
    } catch {
      return '/workspace';
    }
  }

  /** Runs a command after the previous ones. */
  async run(command: string, options: RunOptions): Promise<RunResult> {
    const result = await this.#enqueue(() => this.#run(command, options));
    return { ...result, stdout: trimOutput(result.stdout), stderr: trimOutput(result.stderr) };
  }

  /** Returns the environment of a program that starts in the session now. */
  async environment(): Promise<NodeJS.ProcessEnv> {
    const { stdout } = await this.#enqueue(() => this.#run('env -0', {}));
    const pairs = `${stdout}`.split('\0').filter((pair) => pair.includes('='));
    const at = (pair: string) => pair.indexOf('=');
    return Object.fromEntries(pairs.map((pair) => [pair.slice(0, at(pair)), pair.slice(at(pair) + 1)]));
  }

  /** Ends the session after its commands. Its background processes continue. */
  async close(): Promise<void> {
    await this.#enqueue(async () => {
      this.#process.kill('SIGTERM');
      const timer = setTimeout(() => this.#process.kill('SIGKILL'), GRACE_MS);
      await this.#ended;
      clearTimeout(timer);
    });
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Returns the error of a call to a session whose shell has ended. */
  terminated(): SandboxError {
    const message = `Session '${this.#id}' shell exited (exit code: ${this.exitCode})`;
    return new SandboxError('SESSION_TERMINATED', message, { sessionId: this.#id, exitCode: this.exitCode });
  }

  #enqueue<T>(act: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(act);
    this.#queue = result.catch(() => {});
    return result;
  }

  async #run(command: string, options: RunOptions): Promise<RunResult> {
    const files = `${this.#folder}/${randomUUID()}`;
    const timedOut = new AbortController();
    const timer = options.timeoutMs && setTimeout(() => timedOut.abort(), options.timeoutMs);
    const status = this.#awaitFile(`${files}.exit`, timedOut.signal).catch((error: Error) => {
      throw executionError(command, error.message);
    });
    this.#process.stdin!.write(script(command, files, options));
    try {
      const exitCode = Number(await Promise.race([status, this.#ended.then(() => undefined)]));
      if (this.exitCode !== undefined) throw this.terminated();
      if (timedOut.signal.aborted)
        throw executionError(command, `Command timeout after ${options.timeoutMs}ms`);
      const output = [`${files}.out`, `${files}.err`].map((file) =>
        readFile(file).catch(() => Buffer.alloc(0)),
      );
      const [stdout, stderr] = (await Promise.all(output)) as [Buffer, Buffer];
      return { exitCode, stdout, stderr, timedOut: false };
    } finally {
      clearTimeout(timer);
      timedOut.abort();
      await Promise.all(['out', 'err', 'exit'].map((name) => rm(`${files}.${name}`, { force: true })));
    }
  }

  /** Waits for a file in the session's folder, and returns its text; undefined if aborted. */
  async #awaitFile(path: string, signal: AbortSignal): Promise<string | undefined> {
    const watcher = watchIfPossible(this.#folder);
    await new Promise<void>((resolve) => {
      const check = () => existsSync(path) && resolve();
      const poll = setInterval(check, POLL_MS);
      watcher?.on('change', check).on('error', () => {});
      signal.addEventListener('abort', () => (clearInterval(poll), resolve()), { once: true });
      check();
    });
    watcher?.close();
    return signal.aborted ? undefined : readFile(path, 'utf8');
  }
}

/** Watches a folder, unless the machine has no more watches. Then the polls find the file. */
function watchIfPossible(folder: string): FSWatcher | undefined {
  try {
    return watch(folder);
  } catch {
    return undefined;
  }
}

function executionError(command: string, reason: string): SandboxError {
  const message = `Failed to execute command '${command}': ${reason}`;
  return new SandboxError('COMMAND_EXECUTION_ERROR', message, { command });
}

/** Removes NUL bytes and the last newline from output, as the SDK does. */
function trimOutput(output: Buffer): Buffer {
  const text = output.includes(0) ? output.filter((byte) => byte !== 0) : output;
  return Buffer.from(text.at(-1) === 0x0a ? text.subarray(0, -1) : text);
}

/** Returns the shell code of one command, with a directory and variables that apply to it alone. */
function script(command: string, files: string, { cwd, env = {} }: RunOptions): string {
  const [out, err, exit] = ['out', 'err', 'exit'].map((name) => quote(`${files}.${name}`));
  const before: string[] = [];
  const after: string[] = [];
  for (const [index, [key, value]] of Object.entries(env).entries()) {
    if (value === undefined || value === null) continue;
    before.push(`__set${index}=\${${key}+x} __old${index}=\${${key}-}; export ${key}=${quote(value)}`);
    after.push(`if [ -n "$__set${index}" ]; then export ${key}="$__old${index}"; else unset ${key}; fi`);
  }
  let body = ['{', ...before, command, '__status=$?', ...after, `} </dev/null >${out} 2>${err}`].join('\n');
  if (cwd !== undefined) {
    const message = quote(`Failed to change directory to ${quote(cwd)}`);
    const otherwise = `printf '%s\\n' ${message} >${err}; __status=1`;
    body = `__back=$PWD\nif cd ${quote(cwd)}; then\n${body}\ncd "$__back"\nelse ${otherwise}; fi`;
  }
  return `{\n${body}\necho "$__status" >${exit}.tmp; mv ${exit}.tmp ${exit}\n}\n`;
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
