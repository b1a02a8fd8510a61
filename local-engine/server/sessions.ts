/** The sessions of a sandbox, and the commands that run in them or without one. */
import { SandboxError } from './errors.ts';
import { eventStream } from './events.ts';
import type { Api } from './rpc.ts';
import { run, textOutput, type OnOutput, type RunOptions, type RunResult } from './run.ts';
import { Shell } from './shell.ts';

/** The session id with which the SDK asks for a command outside of any session. */
const NO_SESSION = '__DISABLE_SESSION__';
const START = '/workspace';

/** The options of `execute` and its relatives, as the SDK sends them. */
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

  /** The environment of a process that belongs to no session. */
  environment(extra: ExecuteOptions['env'] = {}): NodeJS.ProcessEnv {
    for (const key of Object.keys(extra)) {
      if (!/^[A-Za-z_]\w*$/.test(key)) {
        throw new SandboxError('VALIDATION_FAILED', `${JSON.stringify(key)} is not the name of a variable`);
      }
    }
    return { ...this.#env, ...extra };
  }

  /** The environment that the commands of a session have now, where there is such a session. */
  async environmentOf(id: string, extra?: ExecuteOptions['env']): Promise<NodeJS.ProcessEnv> {
    const env = this.environment(extra);
    const shell = this.#shells.get(id);
    if (!shell) return env;
    const { stdout } = await shell.run('env -0', {});
    const pairs = `${stdout}`.split('\0').filter((pair) => pair.includes('='));
    const own = pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]);
    return { ...Object.fromEntries(own), ...extra };
  }

  /** The directory that relative paths of a session's calls start from. */
  cwd(sessionId: string): string {
    return this.#shells.get(sessionId)?.cwd ?? START;
  }

  create(id: string, options: ExecuteOptions): void {
    if (this.#shells.has(id)) {
      const details = { sessionId: id, containerPlacementId: this.#env['CLOUDFLARE_PLACEMENT_ID'] };
      throw new SandboxError('SESSION_ALREADY_EXISTS', `Session '${id}' already exists`, details);
    }
    this.#open(id, options.cwd ?? START, this.environment(options.env));
  }

  delete(id: string): void {
    this.#shells.get(id)?.close();
    this.#shells.delete(id);
  }

  list(): string[] {
    return [...this.#shells.keys()];
  }

  /** Runs a command line in a session, which begins with its first command if nobody created it. */
  async execute(
    command: string,
    id: string,
    options: ExecuteOptions = {},
    onOutput?: OnOutput,
  ): Promise<RunResult> {
    const how: RunOptions = { cwd: options.cwd, timeoutMs: options.timeoutMs, onOutput };
    if (id === NO_SESSION) {
      const env = this.environment(options.env);
      const result = await run('bash', ['-c', command], { ...how, env }).catch((error: Error) => {
        throw new SandboxError('COMMAND_EXECUTION_ERROR', `Cannot run ${command}: ${error.message}`, {
          command,
        });
      });
      if (!result.timedOut) return result;
      const message = `The command timed out after ${options.timeoutMs} ms: ${command}`;
      throw new SandboxError('COMMAND_EXECUTION_ERROR', message, { command });
    }
    this.environment(options.env);
    const shell = this.#shells.get(id) ?? this.#open(id, START, this.environment());
    return shell.run(command, { ...how, env: options.env });
  }

  #open(id: string, cwd: string, env: NodeJS.ProcessEnv): Shell {
    const shell = new Shell(id, cwd, env);
    this.#shells.set(id, shell);
    void shell.ended.then(() => {
      if (this.#shells.get(id) === shell) this.#shells.delete(id);
    });
    return shell;
  }
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
    executeStream(command: string, sessionId: string, options?: ExecuteOptions) {
      return eventStream(async (send) => {
        send({ type: 'start', command, sessionId });
        const text = textOutput((type, data) => send({ type, data }));
        const result = await sessions.execute(command, sessionId, options, text.add);
        text.end();
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
    deleteSession(sessionId: string) {
      sessions.delete(sessionId);
      return { success: true, sessionId, timestamp: timestamp() };
    },
    listSessions: () => ({ sessions: sessions.list() }),
  };
}
