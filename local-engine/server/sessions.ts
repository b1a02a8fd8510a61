/** The sessions of a sandbox, and the commands with and without a session. */
import { SandboxError } from './errors.ts';
import { eventStream } from './events.ts';
import type { Api } from './rpc.ts';
import { run, textOutput, type RunOptions, type RunResult } from './run.ts';
import { Shell } from './shell.ts';

/** The session id with which the SDK requests a command without a session. */
export const NO_SESSION = '__DISABLE_SESSION__';
const START = '/workspace';

/** The options of `execute` and similar calls, as the SDK sends them. */
export interface ExecuteOptions {
  timeoutMs?: number;
  env?: Record<string, string | undefined>;
  cwd?: string;
}

/** All sessions of this sandbox. */
export class Sessions {
  readonly #shells = new Map<string, Shell>();
  readonly #env: NodeJS.ProcessEnv;

  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
  }

  /** Returns the environment of a process without a session. */
  environment(extra: ExecuteOptions['env'] = {}): NodeJS.ProcessEnv {
    for (const key of Object.keys(extra)) {
      if (!/^[A-Za-z_]\w*$/.test(key)) {
        throw new SandboxError(
          'VALIDATION_FAILED',
          `${JSON.stringify(key)} is not a valid name of a variable`,
        );
      }
    }
    return { ...this.#env, ...extra };
  }

  /** Returns the options of a program in the background of a session: in its present directory, without a time limit. */
  async background(id: string, { cwd, env, timeoutMs }: ExecuteOptions): Promise<RunOptions> {
    const own = await this.#shells.get(id)?.environment();
    return {
      cwd: cwd ?? this.cwd(id),
      env: own === undefined ? this.environment(env) : { ...own, ...env },
      ...(id === NO_SESSION && { timeoutMs }),
    };
  }

  /** Returns the directory at which the relative paths of a session's calls start. */
  cwd(sessionId: string): string {
    return this.#shells.get(sessionId)?.cwd ?? START;
  }

  create(id: string, options: ExecuteOptions): void {
    const existing = this.#shells.get(id);
    if (existing !== undefined && existing.exitCode === undefined) {
      const details = { sessionId: id, containerPlacementId: this.#env['CLOUDFLARE_PLACEMENT_ID'] };
      throw new SandboxError('SESSION_ALREADY_EXISTS', `Session '${id}' already exists`, details);
    }
    void existing?.close();
    this.#open(id, options.cwd ?? START, this.environment(options.env));
  }

  async delete(id: string): Promise<void> {
    const shell = this.#shells.get(id);
    if (!shell) throw new SandboxError('INTERNAL_ERROR', `Session '${id}' not found`, { sessionId: id });
    await shell.close();
    if (this.#shells.get(id) === shell) this.#shells.delete(id);
  }

  list(): string[] {
    return [...this.#shells.keys()];
  }

  /** Runs a command line in a session. The first command creates the session if it does not exist. */
  async execute(command: string, id: string, options: ExecuteOptions = {}): Promise<RunResult> {
    const env = this.environment(options.env);
    const runOptions: RunOptions = { cwd: options.cwd, timeoutMs: options.timeoutMs };
    if (id === NO_SESSION) return runWithoutSession(command, { ...runOptions, env });
    const shell = this.#shells.get(id) ?? this.#open(id, options.cwd ?? START, this.environment());
    try {
      if (shell.exitCode !== undefined) throw shell.terminated();
      return await shell.run(command, { ...runOptions, env: options.env });
    } finally {
      // This call fails because the session ended. The next call has a new session.
      if (shell.exitCode !== undefined && this.#shells.get(id) === shell) {
        this.#shells.delete(id);
        void shell.close();
      }
    }
  }

  #open(id: string, cwd: string, env: NodeJS.ProcessEnv): Shell {
    const shell = new Shell(id, cwd, env);
    this.#shells.set(id, shell);
    return shell;
  }
}

/** The exit code of a command without a session that exceeds its timeout. */
const TIMEOUT_EXIT_CODE = 124;

/** Runs a command line without a session. Ends it at its timeout, and returns its output up to then. */
export async function runWithoutSession(command: string, options: RunOptions): Promise<RunResult> {
  const result = await run('/bin/bash', ['-c', command], options).catch((error: Error) => {
    throw new SandboxError('COMMAND_EXECUTION_ERROR', `Cannot run ${command}: ${error.message}`, { command });
  });
  if (!result.timedOut) return result;
  const printed = `${result.stderr}`;
  const separator = printed === '' || printed.endsWith('\n') ? '' : '\n';
  const stderr = Buffer.from(`${printed}${separator}Command timed out after ${options.timeoutMs}ms`);
  return { ...result, exitCode: TIMEOUT_EXIT_CODE, stderr };
}

/** The part `commands` of the API. */
export function commands(sessions: Sessions): Api {
  return {
    async execute(command: string, sessionId: string, options?: ExecuteOptions) {
      const { exitCode, stdout, stderr } = await sessions.execute(command, sessionId, options);
      const timestamp = new Date().toISOString();
      return {
        success: exitCode === 0,
        exitCode,
        stdout: `${stdout}`,
        stderr: `${stderr}`,
        command,
        timestamp,
      };
    },
    executeStream(command: string, sessionId: string, options: ExecuteOptions = {}) {
      return eventStream(async (send) => {
        send({ type: 'start', command, sessionId });
        const text = textOutput((type, data) => send({ type, data }), sessionId !== NO_SESSION);
        const runOptions = await sessions.background(sessionId, options);
        const result = await runWithoutSession(command, { ...runOptions, onOutput: text.add });
        text.end();
        if (result.timedOut)
          send({ type: 'stderr', data: `Command timed out after ${runOptions.timeoutMs}ms\n` });
        send({ type: 'complete', exitCode: result.exitCode });
      });
    },
  };
}

/** The part `utils` of the API. */
export function utils(sessions: Sessions, version: string, placementId: string): Api {
  const timestamp = () => new Date().toISOString();
  return {
    ping: () => 'healthy',
    getVersion: () => version,
    getCommands: () => ['bash', 'git'],
    createSession({ id, ...options }: ExecuteOptions & { id: string }) {
      sessions.create(id, options);
      return {
        success: true,
        id,
        message: 'Session created',
        timestamp: timestamp(),
        containerPlacementId: placementId,
      };
    },
    async deleteSession(sessionId: string) {
      await sessions.delete(sessionId);
      return { success: true, sessionId, timestamp: timestamp() };
    },
    listSessions: () => ({ sessions: sessions.list() }),
  };
}
