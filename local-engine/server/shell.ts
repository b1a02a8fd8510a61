/**
 * A session: one bash that lives on from command to command, so that its directory, variables and functions do too.
 *
 * Commands are written to its standard input. A random mark after the output of a command, on both streams, says that
 * it has ended; on stdout the exit code follows.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { SandboxError } from './errors.ts';
import { openOutput } from './pipe.ts';
import { exitStatus, killGroup, type OnOutput, type RunOptions, type RunResult, type Stream } from './run.ts';

/** Quotes a string for bash. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Collects one output stream of the shell up to a mark. */
class Collector {
  #chunks: Buffer[] = [];
  #mark: Buffer | undefined;
  #tail: Buffer = Buffer.alloc(0);
  #resolve: ((output: Buffer) => void) | undefined;
  readonly #name: Stream;
  onOutput: OnOutput | undefined;

  constructor(stream: Readable, name: Stream) {
    this.#name = name;
    stream.on('data', (data: Buffer) => this.#add(data));
  }

  /** Resolves with all that arrives before the line that starts with the mark, and the rest of that line. */
  until(mark: string): Promise<{ output: Buffer; rest: string }> {
    const before = Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#tail = Buffer.alloc(0);
    this.#mark = Buffer.from(mark);
    return new Promise<Buffer>((resolve) => {
      this.#resolve = resolve;
      this.#add(before);
    }).then((all) => {
      const at = all.lastIndexOf(mark);
      const end = all.indexOf('\n', at);
      // What background processes wrote since belongs to the next command.
      this.#chunks.unshift(all.subarray(end + 1));
      return { output: all.subarray(0, at), rest: all.toString('latin1', at + mark.length, end) };
    });
  }

  #add(data: Buffer): void {
    this.#chunks.push(data);
    if (!this.#mark || !this.#resolve) return;
    // The mark may come in two pieces: look at the end of what came before as well.
    const seen = Buffer.concat([this.#tail, data]);
    const at = seen.indexOf(this.#mark);
    if (at >= 0 && seen.indexOf('\n', at) >= 0) {
      const resolve = this.#resolve;
      this.#resolve = this.#mark = undefined;
      this.#flush(seen.subarray(0, at));
      resolve(Buffer.concat(this.#chunks));
      this.#chunks = [];
      return;
    }
    const keep = Math.min(seen.length, this.#mark.length + 8);
    this.#flush(seen.subarray(0, seen.length - keep));
    this.#tail = seen.subarray(seen.length - keep);
  }

  #flush(data: Buffer): void {
    if (data.length > 0) this.onOutput?.(this.#name, data);
  }
}

/** One session. Its commands run one after the other. */
export class Shell {
  readonly ended: Promise<number>;
  readonly #id: string;
  readonly #process: ChildProcess;
  readonly #stdout: Collector;
  readonly #stderr: Collector;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(id: string, cwd: string, env: NodeJS.ProcessEnv) {
    this.#id = id;
    const output = openOutput();
    this.#process = spawn('bash', ['--noprofile', '--norc'], {
      cwd,
      env,
      stdio: ['pipe', ...output.ends],
      detached: true,
    });
    output.close();
    this.#stdout = new Collector(output.stdout, 'stdout');
    this.#stderr = new Collector(output.stderr, 'stderr');
    this.ended = new Promise((resolve) => {
      this.#process.once('exit', (code, signal) => resolve(exitStatus(code, signal)));
      this.#process.once('error', () => resolve(127));
    });
    this.#process.stdin!.on('error', () => {});
    // Commands run with copies of the streams, so that `exec >file` in one cannot cut off the marks.
    this.#process.stdin!.write('exec 8>&1 9>&2\n');
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
  run(command: string, options: RunOptions): Promise<RunResult> {
    const result = this.#queue.then(() => this.#run(command, options));
    this.#queue = result.catch(() => {});
    return result;
  }

  /** Ends the session and all that it started. */
  close(): void {
    killGroup(this.#process.pid);
  }

  async #run(command: string, { cwd, env = {}, timeoutMs, onOutput }: RunOptions): Promise<RunResult> {
    const mark = randomUUID();
    let timedOut = false;
    const timer =
      timeoutMs &&
      setTimeout(() => {
        timedOut = true;
        this.close();
      }, timeoutMs);
    this.#stdout.onOutput = this.#stderr.onOutput = onOutput;
    const output = Promise.all([this.#stdout.until(mark), this.#stderr.until(mark)]);
    this.#process.stdin!.write(
      `{ ${line(command, cwd, env)}; } </dev/null >&8 2>&9 8>&- 9>&-; ` +
        `{ printf '${mark}%d\\n' "$?" >&8; printf '${mark}\\n' >&9; } 2>/dev/null\n`,
    );
    const result = await Promise.race([output, this.ended]);
    if (timer) clearTimeout(timer);
    if (timedOut) {
      const message = `The command timed out after ${timeoutMs} ms; its session was ended: ${command}`;
      throw new SandboxError('COMMAND_EXECUTION_ERROR', message, { command });
    }
    if (typeof result === 'number') {
      const message = `Session ${this.#id} ended: its shell exited with code ${result}`;
      throw new SandboxError('SESSION_TERMINATED', message, { sessionId: this.#id, exitCode: result });
    }
    const [out, err] = result;
    return { exitCode: Number(out.rest), stdout: out.output, stderr: err.output, timedOut };
  }
}

/** The shell code of one command, with a directory and variables that hold for it alone. */
function line(command: string, cwd: string | undefined, env: NodeJS.ProcessEnv): string {
  let code = `eval ${quote(command)}`;
  const restore: string[] = [];
  for (const [index, [key, value]] of Object.entries(env).entries()) {
    if (value === undefined || value === null) continue;
    restore.push(`if [ -n "$__set${index}" ]; then export ${key}="$__old${index}"; else unset ${key}; fi`);
    code = `__set${index}=\${${key}+x} __old${index}=\${${key}-}; export ${key}=${quote(value)}; ${code}`;
  }
  if (cwd !== undefined) {
    code = `__back=$PWD; if cd -- ${quote(cwd)}; then ${code}; else false; fi`;
    restore.push('cd -- "$__back"');
  }
  return restore.length === 0 ? code : `${code}; __status=$?; ${restore.join('; ')}; (exit $__status)`;
}
