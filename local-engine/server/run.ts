/** Runs one program to its end. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { openOutput } from './pipe.ts';

/** A stream of output. */
export type Stream = 'stdout' | 'stderr';
const STREAMS = ['stdout', 'stderr'] as const;

/** Receives output while a program runs. */
export type OnOutput = (stream: Stream, data: Buffer) => void;

/** Decodes output chunk by chunk, also within characters. With `lines`, appends a missing newline to the last line. */
export function textOutput(
  send: (stream: Stream, text: string) => void,
  lines = false,
): { add: OnOutput; end(): void } {
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  const last = { stdout: '\n', stderr: '\n' };
  const decode = (stream: Stream, data?: Buffer) => {
    const text = decoders[stream].decode(data, { stream: data !== undefined });
    if (text) send(stream, text);
    last[stream] = text.at(-1) ?? last[stream];
  };
  const end = (stream: Stream) => {
    decode(stream);
    if (lines && last[stream] !== '\n') send(stream, '\n');
  };
  return { add: decode, end: () => STREAMS.forEach(end) };
}

/** The options of a program run. */
export interface RunOptions {
  cwd?: string | undefined;
  env?: NodeJS.ProcessEnv | undefined;
  timeoutMs?: number | undefined;
  onOutput?: OnOutput | undefined;
  onStart?: ((pid: number) => void) | undefined;
}

/** The result of a program run. */
export interface RunResult {
  exitCode: number;
  stdout: Buffer;
  stderr: Buffer;
  timedOut: boolean;
}

/** Returns the exit code of a process as a shell reports it. */
export function exitStatus(code: number | null, signal: NodeJS.Signals | null): number {
  return code ?? 128 + constants.signals[signal ?? 'SIGKILL'];
}

/** The time between SIGTERM at the timeout and SIGKILL, in milliseconds. */
const GRACE_MS = 5000;

/** Sends a signal to the process group that a program leads. */
export function killGroup(pid: number | undefined, signal: NodeJS.Signals = 'SIGKILL'): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // The group has ended already.
  }
}

/** Runs a program as the leader of a process group. Resolves when it has ended and its output is closed. */
export async function run(program: string, args: string[], options: RunOptions = {}): Promise<RunResult> {
  const output = openOutput();
  const chunks: Record<Stream, Buffer[]> = { stdout: [], stderr: [] };
  const closed = STREAMS.map((stream) => {
    output[stream].on('data', (data: Buffer) => {
      chunks[stream].push(data);
      options.onOutput?.(stream, data);
    });
    return once(output[stream], 'close');
  });
  const child = spawn(program, args, {
    cwd: options.cwd ?? '/workspace',
    env: options.env ?? process.env,
    stdio: ['ignore', ...output.ends],
    detached: true,
  });
  output.close();
  if (child.pid !== undefined) options.onStart?.(child.pid);
  let timedOut = false;
  let timer =
    options.timeoutMs &&
    setTimeout(() => {
      timedOut = true;
      killGroup(child.pid, 'SIGTERM');
      timer = setTimeout(() => killGroup(child.pid), GRACE_MS);
    }, options.timeoutMs);
  try {
    const [[code, signal]] = await Promise.all([once(child, 'exit'), ...closed]);
    const [stdout, stderr] = [Buffer.concat(chunks.stdout), Buffer.concat(chunks.stderr)];
    return { exitCode: exitStatus(code, signal), stdout, stderr, timedOut };
  } finally {
    if (timer) clearTimeout(timer);
  }
}
