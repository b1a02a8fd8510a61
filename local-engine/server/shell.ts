/**
 * A session: one bash that lives on from command to command, so that its directory, variables and functions do too.
 *
 * As in the published container server, a command writes its output to files in the session's folder in /tmp, and a
 * file with its exit status ends the wait for it. So output loses its last newline and NUL characters, a command goes on
 * after its time is over, a syntax error ends the session, and where a mount hides the folder no command ever ends.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readlinkSync, rmSync, statSync, watch } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { SandboxError } from './errors.ts';
import { exitStatus, type RunOptions, type RunResult } from './run.ts';

/** How often a session looks for the end of a command, where the kernel does not tell it. */
const POLL_MS = 50;
/** How long a session that is deleted may take to end by itself. */
const GRACE_MS = 1000;

/** Quotes a string for bash. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** One session. Its commands run one after the other. */
export class Shell {
  /** The status that the shell ended with; undefined while it lives. */
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

  /** The directory that the session is in now. */
  get cwd(): string {
    try {
      // Where the sandbox had to take over the host's /proc, pids mean other processes there.
      if (readlinkSync('/proc/self') !== String(process.pid)) return '/workspace';
      return readlinkSync(`/proc/${this.#process.pid}/cwd`);
    } catch {
      return '/workspace';
    }
  }

  /** Runs a command after those that were there before. */
  async run(command: string, options: RunOptions): Promise<RunResult> {
    const result = await this.#next(() => this.#run(command, options));
    return { ...result, stdout: asLines(result.stdout), stderr: asLines(result.stderr) };
  }

  /** The variables that a program has which is started in the session now. */
  async environment(): Promise<NodeJS.ProcessEnv> {
    const { stdout } = await this.#next(() => this.#run('env -0', {}));
    const pairs = `${stdout}`.split('\0').filter((pair) => pair.includes('='));
    const at = (pair: string) => pair.indexOf('=');
    return Object.fromEntries(pairs.map((pair) => [pair.slice(0, at(pair)), pair.slice(at(pair) + 1)]));
  }

  /** Ends the session after its commands. What it left in the background goes on. */
  async close(): Promise<void> {
    await this.#next(async () => {
      this.#process.kill('SIGTERM');
      const timer = setTimeout(() => this.#process.kill('SIGKILL'), GRACE_MS);
      await this.#ended;
      clearTimeout(timer);
    });
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** The error of a call to a session whose shell has ended. */
  terminated(): SandboxError {
    const message = `Session '${this.#id}' shell exited (exit code: ${this.exitCode})`;
    return new SandboxError('SESSION_TERMINATED', message, { sessionId: this.#id, exitCode: this.exitCode });
  }

  #next<T>(act: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(act);
    this.#queue = result.catch(() => {});
    return result;
  }

  async #run(command: string, options: RunOptions): Promise<RunResult> {
    const files = `${this.#folder}/${randomUUID()}`;
    const timedOut = new AbortController();
    const timer = options.timeoutMs && setTimeout(() => timedOut.abort(), options.timeoutMs);
    const status = this.#written(`${files}.exit`, timedOut.signal).catch((error: Error) => {
      throw failed(command, error.message);
    });
    this.#process.stdin!.write(script(command, files, options));
    try {
      const exitCode = Number(await Promise.race([status, this.#ended.then(() => undefined)]));
      if (this.exitCode !== undefined) throw this.terminated();
      if (timedOut.signal.aborted) throw failed(command, `Command timeout after ${options.timeoutMs}ms`);
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

  /** Resolves with the text of a file in the session's folder when it is there; with nothing when aborted. */
  async #written(path: string, signal: AbortSignal): Promise<string | undefined> {
    const watcher = watch(this.#folder);
    await new Promise<void>((resolve) => {
      const look = () => existsSync(path) && resolve();
      const poll = setInterval(look, POLL_MS);
      watcher.on('change', look).on('error', () => {});
      signal.addEventListener('abort', () => (clearInterval(poll), resolve()), { once: true });
      look();
    });
    watcher.close();
    return signal.aborted ? undefined : readFile(path, 'utf8');
  }
}

function failed(command: string, why: string): SandboxError {
  const message = `Failed to execute command '${command}': ${why}`;
  return new SandboxError('COMMAND_EXECUTION_ERROR', message, { command });
}

/** Output as the SDK gives it: lines, without the end of the last one. */
function asLines(output: Buffer): Buffer {
  const text = output.includes(0) ? output.filter((byte) => byte !== 0) : output;
  return Buffer.from(text.at(-1) === 0x0a ? text.subarray(0, -1) : text);
}

/** The shell code of one command, with a directory and variables that hold for it alone. */
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
