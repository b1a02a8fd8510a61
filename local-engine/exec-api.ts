/** The part of Docker's HTTP API that runs commands in containers. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { ApiError } from './api-error.ts';
import type { Container } from './container.ts';
import { Exec, type ExecRequest, type Started } from './exec.ts';
import { connectExec, endFailed, readUpgradeBody } from './exec-stream.ts';

const UPGRADED =
  'HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n';

/** The time for which the state of a command that has ended can be read, in milliseconds. */
const KEPT_MS = 60_000;

/** The exit code of a command whose container ended. */
const KILLED = 137;

/** All commands of an engine. */
export class ExecApi {
  readonly #execs = new Map<string, Exec>();

  /** Prepares a command. Returns its id. */
  create(container: Container, request: ExecRequest): string {
    const exec = new Exec(container, request);
    this.#execs.set(exec.id, exec);
    return exec.id;
  }

  /** Starts a command without a connection to it. */
  startDetached(id: string): void {
    this.#start(this.#find(id), true);
  }

  /**
   * Connects a command with the socket of the request, and starts it after the engine's `onCall`. If that throws, the command
   * fails with its message. The answer comes first, because workerd makes no other exec before it.
   */
  async upgrade(id: string, request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const exec = this.#find(id);
    const [, input] = await readUpgradeBody(socket, head, Number(request.headers['content-length'] ?? 0));
    socket.write(UPGRADED);
    const fail = (code: number, message: string) => {
      exec.exitCode = code;
      endFailed(socket, message);
    };
    try {
      await exec.announce();
    } catch (error) {
      return fail(1, (error as Error).message);
    }
    if (!exec.canStart) return fail(KILLED, 'The container ended');
    connectExec(this.#start(exec, false), socket, input, exec.tty);
  }

  /** Returns the answer to `GET /exec/ID/json`. */
  describe(id: string): unknown {
    const { running, exitCode, pid } = this.#find(id);
    return { ID: id, Running: running, ExitCode: exitCode, Pid: pid };
  }

  /** Sets the size of the terminal of a command. */
  resize(id: string, size: URLSearchParams): void {
    void this.#find(id).resize(Number(size.get('h')), Number(size.get('w')));
  }

  #start(exec: Exec, detached: boolean): Started {
    const started = exec.start(detached);
    started.child.once('close', () => setTimeout(() => this.#execs.delete(exec.id), KEPT_MS).unref());
    return started;
  }

  #find(id: string): Exec {
    const exec = this.#execs.get(id);
    if (!exec) throw new ApiError(404, `No such exec instance: ${id}`);
    return exec;
  }
}
