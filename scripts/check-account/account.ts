// A deployment that is checked: the snapshotter, and the Worker that reaches its containers and sandboxes. Everything that a
// run makes has the prefix of the run, calls about anything else are refused, and `cleanUp` removes it.

import { randomBytes } from 'node:crypto';

import { http, SnapshotterClient, SnapshotterError } from '../../client/src/index.ts';
import type { Runtime } from '../runtimes.ts';

/** The address and the token of a Worker. */
export interface Endpoint {
  url: string;
  token: string;
}

/** The time limit of a call to the Worker of the check, in milliseconds. */
const LIMIT_MS = 600_000;

/** What a call to the Worker of the check reaches: a container of the platform, or a sandbox of a runtime. */
type Target = 'probe' | Runtime;

/** The checked deployment. */
export class Account {
  readonly client: SnapshotterClient;
  /** The prefix of every id and every name of this run. */
  readonly prefix = `account-check-${randomBytes(4).toString('hex')}`;
  /** Ends the run after the present check. */
  readonly interruption = new AbortController();
  /** The runtimes of the deployment. */
  readonly runtimes: Runtime[];
  readonly #worker: Endpoint;
  readonly #used = new Map<string, Target>();
  readonly #workspaces = new Set<string>();

  private constructor(snapshotter: Endpoint, worker: Endpoint, runtimes: Runtime[]) {
    this.client = new SnapshotterClient(http(snapshotter));
    this.#worker = worker;
    this.runtimes = runtimes;
  }

  /** Connects to a deployment. Changes nothing in it. */
  static async connect(snapshotter: Endpoint, worker: Endpoint): Promise<Account> {
    return new Account(snapshotter, worker, (await request(worker, '')) as Runtime[]);
  }

  /** Returns the option that selects a runtime. A deployment with one runtime need not name it. */
  choice(runtime: Runtime): { runtime?: Runtime } {
    return this.runtimes.length > 1 ? { runtime } : {};
  }

  /** Returns the id or the name of something that this run makes. */
  own(what: string): string {
    return `${this.prefix}-${what.replaceAll(/[^a-z0-9]+/g, '-')}`;
  }

  /** Returns the name of a workspace that this run creates. */
  workspace(what: string): string {
    const name = this.own(what);
    this.#workspaces.add(name);
    return name;
  }

  /** Calls a method of a container or a sandbox of this run. */
  async call<T>(target: Target, id: string, method: string, ...args: unknown[]): Promise<T> {
    if (!id.startsWith(`${this.prefix}-`)) throw new Error(`This run did not make the sandbox ${id}.`);
    this.#used.set(id, target);
    return (await request(this.#worker, `${target}/${id}/${method}`, args)) as T;
  }

  /** Runs a command in a sandbox, and returns its output without the last newline. The command must succeed. */
  async exec(runtime: Runtime, id: string, command: string): Promise<string> {
    type Output = { exitCode: number; stdout: string; stderr: string };
    const { exitCode, stdout, stderr } = await this.call<Output>(runtime, id, 'exec', command);
    if (exitCode !== 0) throw new Error(`${command} ended with ${exitCode}: ${stderr}`);
    return stdout.trimEnd();
  }

  /** Removes the workspaces, snapshots and containers of this run. Returns what could not be removed. */
  async cleanUp(): Promise<string[]> {
    const left: string[] = [];
    const remove = async (what: string, work: () => Promise<unknown>) => {
      await work().catch((error: unknown) => left.push(`${what}: ${String(error)}`));
    };
    for (const name of this.#workspaces)
      await remove(`the workspace ${name}`, () => this.client.workspaces.delete({ name }));
    const sandboxes = [...this.#used].filter(([, target]) => target !== 'probe');
    for (const [id] of sandboxes) await remove(`the snapshots of ${id}`, () => this.#deleteSnapshots(id));
    for (const [id, target] of this.#used)
      await remove(`the container of ${id}`, () =>
        this.call(target, id, target === 'probe' ? 'end' : 'destroy'),
      );
    return left;
  }

  async #deleteSnapshots(sandboxId: string): Promise<void> {
    const { snapshots } = await this.client.list({ sandboxId, limit: 100 });
    for (const { snapshotId } of snapshots) await this.client.delete({ sandboxId, snapshotId, force: true });
  }
}

/** Returns the code of the error with which a call fails, or `none`. */
export async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'none';
  } catch (error) {
    if (error instanceof SnapshotterError) return error.code;
    throw error;
  }
}

async function request({ url, token }: Endpoint, path: string, args?: unknown[]): Promise<unknown> {
  const response = await fetch(new URL(`/${path}`, url), {
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    signal: AbortSignal.timeout(LIMIT_MS),
    ...(args && { method: 'POST', body: JSON.stringify(args) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path || url}: ${response.status} ${text}`);
  return JSON.parse(text);
}
