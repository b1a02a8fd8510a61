/** The parts `processes` (background processes and their logs) and `git` of the API. */
import { randomUUID } from 'node:crypto';
import { SandboxError } from './errors.ts';
import { eventStream } from './events.ts';
import type { Api } from './rpc.ts';
import { killGroup, run, textOutput, type Stream } from './run.ts';
import { NO_SESSION, type ExecuteOptions, type Sessions } from './sessions.ts';

interface Started {
  id: string;
  pid: number;
  command: string;
  status: 'running' | 'completed' | 'failed' | 'killed';
  startTime: string;
  endTime?: string;
  exitCode?: number;
}

type Listener = (type: Stream, data: string) => void;

interface Entry {
  info: Started;
  log: { type: Stream; data: string }[];
  listeners: Set<Listener>;
  ended: Promise<void>;
}

/** The part `processes` of the API. */
export function processes(sessions: Sessions): Api {
  const entries = new Map<string, Entry>();
  const find = (id: string): Entry => {
    const entry = entries.get(id);
    if (!entry) throw new SandboxError('PROCESS_NOT_FOUND', `There is no process ${id}`, { processId: id });
    return entry;
  };
  const done = (more: object) => ({ success: true, timestamp: new Date().toISOString(), ...more });
  const kill = ({ info }: Entry) => {
    if (info.status !== 'running') return false;
    info.status = 'killed';
    killGroup(info.pid);
    return true;
  };
  const text = (entry: Entry, type: string) =>
    entry.log.flatMap((event) => (event.type === type ? event.data : [])).join('');

  return {
    async startProcess(
      command: string,
      sessionId: string,
      options: ExecuteOptions & { processId?: string } = {},
    ) {
      const id = options.processId ?? `proc_${randomUUID()}`;
      const runOptions = await sessions.background(sessionId, options);
      return new Promise((resolve, reject) => {
        const entry = { log: [], listeners: new Set() } as unknown as Entry;
        const output = textOutput((type, data) => {
          entry.log.push({ type, data });
          for (const listener of entry.listeners) listener(type, data);
        }, sessionId !== NO_SESSION);
        const ended = run('bash', ['-c', command], {
          ...runOptions,
          onOutput: output.add,
          onStart(pid) {
            entry.info = { id, pid, command, status: 'running', startTime: new Date().toISOString() };
            entries.set(id, entry);
            resolve(done({ processId: id, pid, command }));
          },
        });
        entry.ended = ended.then(({ exitCode }) => {
          output.end();
          const status = entry.info.status === 'killed' ? 'killed' : exitCode === 0 ? 'completed' : 'failed';
          Object.assign(entry.info, { status, exitCode, endTime: new Date().toISOString() });
        });
        entry.ended.catch(reject);
      });
    },
    listProcesses: () => done({ processes: [...entries.values()].map(({ info }) => info) }),
    getProcess: (id: string) => done({ process: find(id).info }),
    killProcess(id: string) {
      kill(find(id));
      return done({ processId: id });
    },
    killAllProcesses: () => done({ cleanedCount: [...entries.values()].filter(kill).length }),
    getProcessLogs(id: string) {
      const entry = find(id);
      return done({ processId: id, stdout: text(entry, 'stdout'), stderr: text(entry, 'stderr') });
    },
    streamProcessLogs(id: string) {
      const entry = find(id);
      return eventStream(async (send) => {
        for (const event of entry.log) send({ ...event, processId: id });
        const listener: Listener = (type, data) => send({ type, data, processId: id });
        entry.listeners.add(listener);
        await entry.ended;
        entry.listeners.delete(listener);
        send({ type: 'exit', exitCode: entry.info.exitCode, processId: id, data: '' });
      });
    },
  };
}

/** The part `git` of the API. */
export function git(sessions: Sessions): Api {
  return {
    async checkout(
      repoUrl: string,
      sessionId: string,
      options: { branch?: string; targetDir?: string; depth?: number; timeoutMs?: number } = {},
    ) {
      const { branch, depth, timeoutMs } = options;
      const targetDir =
        options.targetDir ?? `/workspace/${/([^/]+?)(\.git)?\/*$/.exec(repoUrl)?.[1] ?? 'repository'}`;
      const args = ['clone'];
      if (branch !== undefined) args.push('--branch', branch);
      if (depth !== undefined) args.push('--depth', String(depth));
      const cwd = sessions.cwd(sessionId);
      const clone = await run('git', [...args, '--', repoUrl, targetDir], {
        cwd,
        timeoutMs,
        env: sessions.environment(),
      });
      if (clone.exitCode !== 0) {
        const reason = clone.timedOut ? `timed out after ${timeoutMs} ms` : clone.stderr.toString().trim();
        throw new SandboxError('GIT_CLONE_FAILED', `git clone ${repoUrl}: ${reason}`, {
          repository: repoUrl,
          targetDir,
        });
      }
      const head = await run('git', ['-C', targetDir, 'branch', '--show-current'], { cwd });
      const checkedOut = branch ?? head.stdout.toString().trim();
      return { success: true, repoUrl, branch: checkedOut, targetDir, timestamp: new Date().toISOString() };
    },
  };
}
