// The Worker of `npm run check:account`: passes calls to containers and to the sandboxes of the deployment. Their ids must
// begin with the prefix of the check, so that no other sandbox can be reached.

import { getSandbox, type Sandbox } from '@cloudflare/sandbox';
import type { SnapshotSandbox } from 'sandbox-snapshotter-client/container';

import { checkToken, parseArguments } from '../../../examples/shared/request.ts';
import { Probe } from './probe.ts';

export { Probe };

interface Env {
  /** The token that callers must send, a secret. Without it, the Worker refuses all requests. */
  CHECK_TOKEN?: string;
  Probe: DurableObjectNamespace<Probe>;
  Container?: DurableObjectNamespace<SnapshotSandbox>;
  Sdk012?: DurableObjectNamespace<Sandbox>;
}

/** The ids of sandboxes that the Worker passes calls to. */
const OWN_ID = /^account-check-[a-z0-9-]+$/;

/** The methods of the targets that the Worker calls. */
const METHODS: Record<string, string[]> = {
  probe: ['start', 'exec', 'inspect', 'running', 'snapshot', 'limitInactivity', 'end'],
  container: ['exec', 'destroy'],
  'sdk-0.12': ['exec', 'destroy'],
};

type Methods = Record<string, (...args: unknown[]) => Promise<unknown>>;

/** `GET /` returns the bound runtimes. `POST /<target>/<id>/<method>` calls a method, with the arguments as a JSON array. */
export default {
  async fetch(request, env): Promise<Response> {
    const unauthorized = await checkToken(request, env.CHECK_TOKEN);
    if (unauthorized) return unauthorized;
    const [target = '', id = '', method = ''] = new URL(request.url).pathname.slice(1).split('/');
    if (target === '')
      return Response.json([...(env.Sdk012 ? ['sdk-0.12'] : []), ...(env.Container ? ['container'] : [])]);
    if (!OWN_ID.test(id)) return new Response(`${id} is not an id of the check.`, { status: 403 });
    const object = METHODS[target]?.includes(method) ? find(env, target, id) : undefined;
    if (!object) return new Response(`${target} has no method ${method}.`, { status: 404 });
    const args = await parseArguments(request);
    if (args instanceof Response) return args;
    try {
      return Response.json((await object[method]?.(...args)) ?? null);
    } catch (error) {
      return new Response(String(error), { status: 500 });
    }
  },
} satisfies ExportedHandler<Env>;

function find(env: Env, target: string, id: string): Methods | undefined {
  const found =
    target === 'probe'
      ? env.Probe.getByName(id)
      : target === 'container'
        ? env.Container?.getByName(id)
        : env.Sdk012 && getSandbox(env.Sdk012, id);
  return found as unknown as Methods | undefined;
}
