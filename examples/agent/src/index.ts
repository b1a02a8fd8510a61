// An agent that works in a sandbox, tries risky things, and goes back when they fail.

import { getSandbox, type Sandbox } from '@cloudflare/sandbox';
import { DurableObject } from 'cloudflare:workers';
import { service, SnapshotterClient, type StoppedWorkspace } from 'sandbox-snapshotter-client';

import type { Attempt, Change, Output } from './answers.ts';
import { argumentsOf, refusal } from './request.ts';

interface Env {
  /** The token of the callers, a secret. Without it the agent is closed. */
  AGENT_TOKEN?: string;
  Agent: DurableObjectNamespace<Agent>;
  Sandbox: DurableObjectNamespace<Sandbox>;
  SNAPSHOTTER: Fetcher;
}

export class Agent extends DurableObject<Env> {
  readonly #snapshotter = new SnapshotterClient(service(this.env.SNAPSHOTTER));

  /** The sandbox that the agent works in now. */
  async sandboxId(): Promise<string> {
    return (await this.ctx.storage.get<string>('sandboxId')) ?? `agent-${this.ctx.id.name}`;
  }

  /** Runs a command where the agent works now. */
  async run(command: string): Promise<Output> {
    return this.runIn(await this.sandboxId(), command);
  }

  /** Tries something risky: when it fails, the agent goes on in a new sandbox with the files from before. */
  async attempt(command: string): Promise<Attempt> {
    const sandboxId = await this.sandboxId();
    const label = 'before something risky';
    const before = await this.#snapshotter.snapshot({ sandboxId, label, replace: true });
    const output = await this.run(command);
    if (output.exitCode === 0) return { output };

    const workspace = await this.#snapshotter.restore({ ref: before });
    await this.ctx.storage.put('sandboxId', workspace.ref.sandboxId);
    await getSandbox(this.env.Sandbox, sandboxId).destroy(); // Nobody works there any more.
    return { output, wentBackTo: workspace.ref.sandboxId };
  }

  /** Changes something where the agent works now: when that fails, the files there become again what they were. */
  async change(command: string): Promise<Change> {
    const { checkpoints } = this.#snapshotter;
    const checkpoint = { sandboxId: await this.sandboxId(), name: 'before-change' };
    await checkpoints.create(checkpoint);
    const output = await this.run(command);
    if (output.exitCode === 0) return { output };

    const { diff } = await checkpoints.diff(checkpoint);
    await checkpoints.restore(checkpoint);
    return { output, undone: diff };
  }

  /** Tries several ways from the same state, each in a sandbox of its own. */
  async explore(commands: string[]): Promise<Output[]> {
    const ref = await this.#snapshotter.snapshot({ sandboxId: await this.sandboxId() });
    return Promise.all(
      commands.map(async (command) => {
        const workspace = await this.#snapshotter.branch({ ref });
        return this.runIn(workspace.ref.sandboxId, command);
      }),
    );
  }

  /** Runs a command in the workspace of a name, which is made, or gets its files again, where that is needed. */
  async work(name: string, command: string): Promise<Output> {
    const { sandboxId } = await this.#snapshotter.workspaces.getOrCreate({ name });
    return this.runIn(sandboxId, command);
  }

  /** Leaves the workspace of a name: its files are kept, and its sandbox ends. */
  async leave(name: string): Promise<StoppedWorkspace> {
    return this.#snapshotter.workspaces.stop({ name });
  }

  private async runIn(sandboxId: string, command: string): Promise<Output> {
    try {
      const { exitCode, stdout, stderr } = await getSandbox(this.env.Sandbox, sandboxId).exec(command);
      return { sandboxId, exitCode, stdout, stderr };
    } catch (error) {
      // Such as `exit 1`, which ends the session of the shell.
      return { sandboxId, exitCode: 1, stdout: '', stderr: String(error) };
    }
  }
}

/**
 * `POST /<agent>/<method>`, with the token, and the arguments as a list in JSON; `GET /<agent>` answers its sandbox.
 *
 * A caller with the token runs any command in the sandbox of any agent. An application adds what it knows of its users:
 * docs/add-to-an-agent.md lists that, under "Who may call your agent".
 */
export default {
  async fetch(request, env): Promise<Response> {
    const refused = await refusal(request, env.AGENT_TOKEN);
    if (refused) return refused;

    const [name = '', method] = new URL(request.url).pathname.slice(1).split('/');
    const agent = env.Agent.getByName(name);
    if (method === undefined) return Response.json(await agent.sandboxId());

    const list = await argumentsOf(request);
    if (list instanceof Response) return list;
    switch (method) {
      case 'run':
        return Response.json(await agent.run(...(list as [string])));
      case 'attempt':
        return Response.json(await agent.attempt(...(list as [string])));
      case 'change':
        return Response.json(await agent.change(...(list as [string])));
      case 'explore':
        return Response.json(await agent.explore(...(list as [string[]])));
      case 'work':
        return Response.json(await agent.work(...(list as [string, string])));
      case 'leave':
        return Response.json(await agent.leave(...(list as [string])));
      default:
        return new Response(`The agent has no method ${method}.`, { status: 404 });
    }
  },
} satisfies ExportedHandler<Env>;
