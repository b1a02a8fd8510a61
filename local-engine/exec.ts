/** One command in a container, as `ctx.container.exec` of a Durable Object runs it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { lstatSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ApiError } from './api-error.ts';
import type { Container } from './container.ts';
import { PATH } from './host.ts';
import { openOutput, type Output } from './server/pipe.ts';
import { exitStatus } from './server/run.ts';
import { quote } from './server/shell.ts';

/** The body of `POST /containers/NAME/exec`. */
export interface ExecRequest {
  AttachStdin?: boolean;
  AttachStdout?: boolean;
  AttachStderr?: boolean;
  Tty?: boolean;
  Cmd: string[];
  Env?: string[] | null;
  WorkingDir?: string;
  User?: string;
}

/** A command that has started, and its output. */
export interface Started {
  child: ChildProcess;
  output: Pick<Output, 'stdout' | 'stderr'> | undefined;
}

/** The shell that workerd puts in front of a command: it writes its pid to a file, for a later `kill`. */
const WRAPPER = ['/bin/sh', '-c', /^echo \$\$ > \S+; exec "\$@"$/, 'sh'] as const;

/** The number of attempts to find the terminal of a command, and the time between them in milliseconds. */
const RESIZE_ATTEMPTS = 100;
const RESIZE_PAUSE_MS = 10;

/** A command. Docker runs it with the variables of the container; production, and this engine, only with its own. */
export class Exec {
  readonly id = randomUUID();
  readonly tty: boolean;
  exitCode: number | null = null;
  readonly #request: ExecRequest;
  readonly #container: Container;
  #process: ChildProcess | undefined;

  /** Throws if the container does not run, or has no such program or directory: then nothing is started. */
  constructor(container: Container, request: ExecRequest) {
    this.#container = container;
    this.#request = request;
    this.tty = request.Tty ?? false;
    this.#check();
  }

  /** The name of the program and its arguments, without the shell of workerd. */
  get command(): string[] {
    const { Cmd } = this.#request;
    const wrapped = WRAPPER.every((part, at) =>
      typeof part === 'string' ? part === Cmd[at] : part.test(Cmd[at] ?? ''),
    );
    return wrapped ? Cmd.slice(WRAPPER.length) : Cmd;
  }

  /** Its pid on the host. Before it starts, that of the engine. */
  get pid(): number {
    return this.#process?.pid ?? process.pid;
  }

  /** Whether its container still runs. */
  get canStart(): boolean {
    return this.#container.state === 'running';
  }

  get running(): boolean {
    return this.exitCode === null;
  }

  /** Waits for the engine's `onCall`. */
  announce(): Promise<void> {
    return this.#container.announce('container.exec', this.command.join(' '));
  }

  /** Starts the command. Its streams that workerd does not attach are not opened. */
  start(detached: boolean): Started {
    const { AttachStdin, AttachStdout, AttachStderr, Cmd, Env, WorkingDir, User } = this.#request;
    const command = this.tty ? ['script', '-qefc', Cmd.map(quote).join(' '), '/dev/null'] : Cmd;
    const user = User ? asUser(User) : [];
    // Clears the variables of the engine. The last value of a variable applies.
    const env = ['env', '-i', '-C', WorkingDir || '/', '--', `PATH=${PATH}`, ...(Env ?? [])];
    const output = detached ? undefined : openOutput(tmpdir());
    const [stdout, stderr] = output?.ends ?? [];
    const child = spawn('nsenter', [...this.#container.namespaces, ...user, ...env, ...command], {
      env: { PATH },
      stdio: [
        AttachStdin && !detached ? 'pipe' : 'ignore',
        (AttachStdout && stdout) || 'ignore',
        (AttachStderr && stderr) || 'ignore',
      ],
      detached: true, // Ctrl-C must reach the engine only
    });
    output?.close();
    this.#process = child;
    child.once('exit', (code, signal) => (this.exitCode = exitStatus(code, signal)));
    child.once('error', () => (this.exitCode = 126));
    return { child, output };
  }

  /** Sets the size of the terminal, as soon as the command has one. */
  async resize(rows: number, columns: number): Promise<void> {
    for (let attempt = 0; attempt < RESIZE_ATTEMPTS && this.running; attempt += 1) {
      const terminal = this.#process?.pid && terminalOf(this.#process.pid);
      if (terminal) {
        const size = ['rows', String(rows), 'cols', String(columns)];
        spawn('stty', ['-F', terminal, ...size], { env: { PATH }, stdio: 'ignore' });
        return;
      }
      await pause(RESIZE_PAUSE_MS);
    }
  }

  #check(): void {
    const root = this.#container.root;
    if (root === undefined) throw new ApiError(409, `Container ${this.#container.spec.name} is not running`);
    const { Env, WorkingDir } = this.#request;
    const cwd = WorkingDir || '/';
    if (!isAbsolute(cwd) || !isDirectory(join(root, cwd)))
      throw new ApiError(400, `OCI runtime exec failed: chdir to cwd ("${cwd}"): no such directory`);
    const [program = ''] = this.command;
    const path = Env?.findLast((pair) => pair.startsWith('PATH='))?.slice('PATH='.length) ?? PATH;
    const folders = program.includes('/') ? [isAbsolute(program) ? '/' : cwd] : path.split(':');
    if (!folders.some((folder) => isProgram(join(root, folder, program))))
      throw new ApiError(400, `OCI runtime exec failed: exec: "${program}": executable file not found`);
  }
}

/** Returns the command that changes to a numeric user, or to `user:group`. */
function asUser(user: string): string[] {
  const [uid, gid = uid] = user.split(':') as [string, string?];
  if (![uid, gid].every((id) => /^\d+$/.test(id))) throw new ApiError(400, `The user ${user} is not numeric`);
  return ['setpriv', '--reuid', uid, '--regid', gid, '--clear-groups'];
}

/** Returns the terminal of a process, or of the first of its descendants that has one: the child of script. */
function terminalOf(pid: number): string | undefined {
  try {
    const input = `/proc/${pid}/fd/0`;
    if (readlinkSync(input).startsWith('/dev/pts/')) return input;
    const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ');
    return child ? terminalOf(Number(child)) : undefined;
  } catch {
    return undefined; // The process has ended.
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** Returns whether a file can be executed. A link counts: its target is relative to the root of the container. */
function isProgram(path: string): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat !== undefined && (stat.isSymbolicLink() || (stat.isFile() && (stat.mode & 0o111) !== 0));
}
