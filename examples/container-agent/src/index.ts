// An agent whose sandboxes are containers of its own class over `ctx.container`, as the Sandbox SDK 1.0 has them.

import { DurableObject } from 'cloudflare:workers';
import { withSnapshots } from 'sandbox-snapshotter-client/container';

import { SandboxAgent, serve, type AgentEnv } from '../../shared/agent.ts';

interface Env extends AgentEnv {
  Agent: DurableObjectNamespace<Agent>;
  Sandbox: DurableObjectNamespace<Sandbox>;
}

/** The methods of this application's sandboxes. They use `ctx.container` as Cloudflare documents it. */
class OwnContainer extends DurableObject {
  /** Returns the load of the container in the last minute. */
  async load(): Promise<number> {
    const { container } = this.ctx;
    if (!container?.running) return 0;
    const { stdout } = await (await container.exec(['cat', '/proc/loadavg'])).output();
    return Number.parseFloat(new TextDecoder().decode(stdout));
  }
}

/** A sandbox: starts its container at the first command, and has the methods that the snapshotter calls. */
export class Sandbox extends withSnapshots(OwnContainer, { sleepAfter: '20m' }) {}

export class Agent extends SandboxAgent<Env> {
  protected override sandbox(id: string) {
    return this.env.Sandbox.getByName(id);
  }
}

export default {
  fetch: (request, env) => serve(request, env.AGENT_TOKEN, env.Agent),
} satisfies ExportedHandler<Env>;
