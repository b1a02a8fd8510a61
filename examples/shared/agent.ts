// An agent that runs commands in a sandbox, and restores the files if a risky command fails. It makes the same calls for the
// sandboxes of every runtime: examples/agent and examples/container-agent add their class of sandboxes.

import { DurableObject } from 'cloudflare:workers';
import {
  service,
  SnapshotterClient,
  type ExecResult,
  type StartedWorkspace,
  type StoppedWorkspace,
} from 'sandbox-snapshotter-client';

import type { Attempt, Best, Change, Output } from './answers.ts';
import { checkToken, parseArguments } from './request.ts';

/** The bindings of an agent. */
export interface AgentEnv {
  /** The token that callers must send, a secret. Without it, the agent refuses all requests. */
  AGENT_TOKEN?: string;
  SNAPSHOTTER: Fetcher;
}

/** The methods of a sandbox that the agent calls. */
interface SandboxMethods {
  exec(command: string): Promise<Pick<Output, 'exitCode' | 'stdout' | 'stderr'>>;
  destroy(): Promise<void>;
}

/** An agent. Its subclass knows how to find a sandbox. */
export abstract class SandboxAgent<Env extends AgentEnv> extends DurableObject<Env> {
  readonly #snapshotter = new SnapshotterClient(service(this.env.SNAPSHOTTER));

  /** Returns the sandbox with an id. */
  protected abstract sandbox(id: string): SandboxMethods;

  /** Returns the id of the agent's current sandbox. */
  async sandboxId(): Promise<string> {
    return (await this.ctx.storage.get<string>('sandboxId')) ?? `agent-${this.ctx.id.name}`;
  }

  /** Runs a command in the current sandbox. */
  async run(command: string): Promise<Output> {
    return this.#runIn(await this.sandboxId(), command);
  }

  /** Runs a risky command. If it fails, restores the files from before into a new sandbox, and continues there. */
  async attempt(command: string): Promise<Attempt> {
    const sandboxId = await this.sandboxId();
    const label = 'before a risky command';
    const before = await this.#snapshotter.snapshot({ sandboxId, label, replace: true });
    const output = await this.run(command);
    if (output.exitCode === 0) return { output };

    const restored = await this.#snapshotter.restore({ ref: before });
    await this.ctx.storage.put('sandboxId', restored.ref.sandboxId);
    await this.sandbox(sandboxId).destroy(); // It is no longer in use.
    return { output, restoredSandboxId: restored.ref.sandboxId };
  }

  /** Runs a command that changes files. If it fails, reverts the changes in the same sandbox. */
  async change(command: string): Promise<Change> {
    const { checkpoints } = this.#snapshotter;
    const checkpoint = { sandboxId: await this.sandboxId(), name: 'before-change' };
    await checkpoints.create(checkpoint);
    const output = await this.run(command);
    if (output.exitCode === 0) return { output };

    const { diff } = await checkpoints.diff(checkpoint);
    await checkpoints.restore(checkpoint);
    return { output, revertedDiff: diff };
  }

  /** Runs several commands from the same state, each in its own sandbox. */
  async explore(commands: string[]): Promise<Output[]> {
    const ref = await this.#snapshotter.snapshot({ sandboxId: await this.sandboxId() });
    return Promise.all(
      commands.map(async (command) => {
        const workspace = await this.#snapshotter.branch({ ref });
        return this.#runIn(workspace.ref.sandboxId, command);
      }),
    );
  }

  /** Runs a command in a named workspace. Creates the workspace or restores its files first, if necessary. */
  async runInWorkspace(name: string, command: string): Promise<Output> {
    const workspace = await this.#snapshotter.workspaces.getOrCreate({ name });
    return toOutput(await workspace.exec(command), workspace);
  }

  /**
   * Runs a risky command in a named workspace. If it fails, the workspace continues from the snapshot before it: under the
   * same name, in a new sandbox.
   */
  async attemptInWorkspace(name: string, command: string): Promise<Attempt> {
    const workspace = await this.#snapshotter.workspaces.getOrCreate({ name });
    const label = 'before a risky command';
    const { snapshotId } = await workspace.snapshot({ label, replace: true, expirationSeconds: 24 * 3600 });
    const output = toOutput(await workspace.exec(command), workspace);
    if (output.exitCode === 0) return { output };
    const { sandboxId } = await workspace.rollback(snapshotId);
    return { output, restoredSandboxId: sandboxId };
  }

  /**
   * Runs several commands in forks of a named workspace. The workspace continues with the files of the first command that
   * succeeds, and the forks are deleted.
   */
  async keepBest(name: string, commands: string[]): Promise<Best> {
    const { workspaces } = this.#snapshotter;
    const workspace = workspaces.handle({ name });
    const { forks } = await workspace.fork({ count: commands.length });
    const run = async (command: string, index: number): Promise<Output> => {
      const { value, error } = forks[index] ?? {};
      if (value) return toOutput(await value.exec(command));
      return { sandboxId: '', exitCode: 1, stdout: '', stderr: error?.message ?? 'The fork is missing.' };
    };
    try {
      const outputs = await Promise.all(commands.map(run));
      const kept = outputs.findIndex(({ exitCode }) => exitCode === 0);
      const best = forks[kept];
      if (best) await workspace.promote({ from: best.name });
      return best ? { outputs, kept } : { outputs };
    } finally {
      await Promise.all(forks.map(({ name }) => workspaces.handle({ name }).delete()));
    }
  }

  /** Stops a named workspace: saves its files in a snapshot, and ends its sandbox. */
  async stopWorkspace(name: string): Promise<StoppedWorkspace> {
    return this.#snapshotter.workspaces.handle({ name }).stop();
  }

  async #runIn(sandboxId: string, command: string): Promise<Output> {
    try {
      const { exitCode, stdout, stderr } = await this.sandbox(sandboxId).exec(command);
      return { sandboxId, exitCode, stdout, stderr };
    } catch (error) {
      // For example, `exit 1` ends the session of a shell in SDK 0.12.
      return { sandboxId, exitCode: 1, stdout: '', stderr: String(error) };
    }
  }
}

/** Returns what the agent answers about a command in a workspace, which the call before it or the command itself started. */
function toOutput(
  { sandboxId, exitCode, stdout, stderr, started }: ExecResult,
  workspace?: Pick<StartedWorkspace, 'mayHaveLost'>,
): Output {
  const mayHaveLost = workspace?.mayHaveLost || started?.mayHaveLost;
  return { sandboxId, exitCode, stdout, stderr, ...(mayHaveLost && { mayHaveLost }) };
}

/**
 * `POST /<agent>/<method>` calls a method of an agent, with the arguments as a JSON array. `GET /<agent>` returns the id of
 * its current sandbox. Both require the token.
 *
 * A caller with the token can run any command in the sandbox of any agent. docs/add-to-an-agent.md lists what an
 * application must add to authorize its users.
 */
export async function serve<Env extends AgentEnv>(
  request: Request,
  token: string | undefined,
  agents: DurableObjectNamespace<SandboxAgent<Env>>,
): Promise<Response> {
  const unauthorized = await checkToken(request, token);
  if (unauthorized) return unauthorized;

  const [name = '', method] = new URL(request.url).pathname.slice(1).split('/');
  const agent = agents.getByName(name);
  if (method === undefined) return Response.json(await agent.sandboxId());

  const args = await parseArguments(request);
  if (args instanceof Response) return args;
  switch (method) {
    case 'run':
      return Response.json(await agent.run(...(args as [string])));
    case 'attempt':
      return Response.json(await agent.attempt(...(args as [string])));
    case 'change':
      return Response.json(await agent.change(...(args as [string])));
    case 'explore':
      return Response.json(await agent.explore(...(args as [string[]])));
    case 'runInWorkspace':
      return Response.json(await agent.runInWorkspace(...(args as [string, string])));
    case 'attemptInWorkspace':
      return Response.json(await agent.attemptInWorkspace(...(args as [string, string])));
    case 'keepBest':
      return Response.json(await agent.keepBest(...(args as [string, string[]])));
    case 'stopWorkspace':
      return Response.json(await agent.stopWorkspace(...(args as [string])));
    default:
      return new Response(`The agent has no method ${method}.`, { status: 404 });
  }
}
