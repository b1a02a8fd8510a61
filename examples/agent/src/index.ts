// An agent whose sandboxes are objects of the class `Sandbox` of the Sandbox SDK 0.12, which the snapshotter's Worker exports.

import { getSandbox, type Sandbox } from '@cloudflare/sandbox';

import { SandboxAgent, serve, type AgentEnv } from '../../shared/agent.ts';

interface Env extends AgentEnv {
  Agent: DurableObjectNamespace<Agent>;
  Sandbox: DurableObjectNamespace<Sandbox>;
}

export class Agent extends SandboxAgent<Env> {
  protected override sandbox(id: string) {
    return getSandbox(this.env.Sandbox, id);
  }
}

export default {
  fetch: (request, env) => serve(request, env.AGENT_TOKEN, env.Agent),
} satisfies ExportedHandler<Env>;
