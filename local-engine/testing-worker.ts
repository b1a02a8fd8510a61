/** The Worker that the tests call: passes a call on to a sandbox, and says its Durable Object's id. */
import { getSandbox, type SandboxOptions } from '@cloudflare/sandbox';

export { ContainerProxy, Sandbox } from '@cloudflare/sandbox';

interface Env {
  Sandbox: Parameters<typeof getSandbox>[0];
}

/** What a test asks for. */
export interface Ask {
  sandbox: string;
  method: string;
  args: unknown[];
  options?: SandboxOptions | undefined;
}

type Methods = Record<string, (...args: unknown[]) => Promise<unknown>>;

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const { sandbox, method, args, options } = (await request.json()) as Ask;
    if (method === 'id') return Response.json({ result: env.Sandbox.idFromName(sandbox).toString() });
    try {
      const client = getSandbox(env.Sandbox, sandbox, options) as unknown as Methods;
      const result = await client[method]!(...args);
      return Response.json({
        result: result instanceof ReadableStream ? await new Response(result).text() : result,
      });
    } catch (thrown) {
      const { name, message, errorResponse } = thrown as Error & { errorResponse?: { code: string } };
      return Response.json({ error: { name, message, code: errorResponse?.code } });
    }
  },
};
