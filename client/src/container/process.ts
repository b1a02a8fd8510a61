/** Commands in a container: their variables, their time limits, and their output. */
import { messageOf, SandboxError } from './errors.ts';

/** The exit code of `timeout` for a command that it ended. */
export const TIMED_OUT = 124;

/** The exit code of a process that was killed, as all processes are when the container ends. */
export const KILLED = 137;

/** The time for which the object waits longer than `timeout` in the container, in milliseconds. */
const MARGIN_MS = 10_000;

/** The largest output of {@link run}, in bytes. */
export const MAX_OUTPUT_BYTES = 16 * 2 ** 20;

/** The options of a command. */
export interface ExecOptions {
  /** Its directory. */
  cwd?: string;
  /** Its variables. Without `PATH`, the image's applies. */
  env?: Record<string, string | undefined>;
  /** Its time limit, in milliseconds. Default: none. */
  timeout?: number | undefined;
  /** The `lastChange` of the only container in which it runs. Default: it runs in any, and starts one if necessary. */
  expectedLastChange?: number;
}

/** The options of a program. */
export interface ProgramOptions extends ExecOptions {
  /** Its input. Default: none. */
  stdin?: ReadableStream | undefined;
}

/** A completed command. */
export interface Ran {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/**
 * Creates the folder `$w` of a script, from a template of mktemp. Where the disk is full, it is in memory: commands still run that
 * free space.
 */
export const scratch = (template = '') =>
  `{ w=$(mktemp -d ${template}) && printf %65536s >"$w/1" || { rm -rf "$w"; w=$(mktemp -dp /run); } || exit 126; } 2>/dev/null`;

/**
 * Runs a script with a shell. Its output goes to files that have no name, so that the call does not wait for processes
 * that the script leaves behind with its output open.
 */
const COLLECT = `${scratch()}
exec 3>"$w/1" 4<"$w/1" 5>"$w/2" 6<"$w/2" && rm -rf "$w" || exit 126
cd -- "$1" || exit 126; shift
"$@" >&3 2>&5 3>&- 4<&- 5>&- 6<&-; c=$?
head -c ${MAX_OUTPUT_BYTES + 1} <&4; head -c ${MAX_OUTPUT_BYTES + 1} <&6 >&2; exit $c`;

export const decode = (bytes: ArrayBuffer): string => new TextDecoder().decode(bytes);

/** Returns the command that runs a script. */
export const sh = (script: string, ...args: string[]): string[] => ['/bin/sh', '-c', script, 'sh', ...args];

/** Starts a command. Throws where the container does not run, or lacks the program. */
export async function open(
  container: Container,
  argv: string[],
  options: ContainerExecOptions = {},
): Promise<ExecProcess> {
  return container.exec(argv, { cwd: '/', env: {}, ...options }).catch((thrown) => {
    const message = messageOf(thrown);
    const code = /not found|no such file/i.test(message) ? 'TOOL_MISSING' : 'CONTAINER_UNAVAILABLE';
    throw new SandboxError(code, `${argv[0]}: ${message}`);
  });
}

/** Returns a command with a time limit in the container, which ends all its processes. */
export const limited = (argv: string[], timeout: number | undefined): string[] =>
  timeout === undefined ? argv : ['timeout', '-k', '2', String(timeout / 1000), ...argv];

/**
 * Limits the time of work in a container. {@link limited} ends its processes; where they do not end within a margin, aborts
 * the signal of the work and fails. Kills no process itself, because another one may have its pid by then.
 */
export async function within<T>(timeout: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new SandboxError('COMMAND_TIMEOUT', `A command did not end within ${timeout} ms.`);
      controller.abort(error);
      reject(error);
    }, timeout + MARGIN_MS);
  });
  return Promise.race([work(controller.signal), late]).finally(() => clearTimeout(timer as never));
}

/** Runs a command to its end. Processes that it leaves behind continue. */
export async function run(container: Container, argv: string[], options: ProgramOptions = {}): Promise<Ran> {
  const { cwd = '/', env = {}, timeout, stdin } = options;
  const collect = sh(stdin ? COLLECT : `exec </dev/null\n${COLLECT}`, cwd, ...limited(argv, timeout));
  const ran = async () => (await open(container, collect, { env, stdin } as ContainerExecOptions)).output();
  const { stdout, stderr, exitCode } = await (timeout === undefined ? ran() : within(timeout, ran));
  if (Math.max(stdout.byteLength, stderr.byteLength) > MAX_OUTPUT_BYTES)
    throw new SandboxError('OUTPUT_TOO_LARGE', `A command printed more than ${MAX_OUTPUT_BYTES} bytes.`);
  return { exitCode, stdout: decode(stdout), stderr: decode(stderr) };
}
