/** The Worker that the tests call. It passes calls on to a sandbox, and returns the id of its Durable Object. */
import { getSandbox, type SandboxOptions } from '@cloudflare/sandbox';

export { ContainerProxy, Sandbox } from '@cloudflare/sandbox';

interface Env {
  Sandbox: Parameters<typeof getSandbox>[0];
}

/** A call that a test requests. */
export interface SandboxCall {
  sandbox: string;
  method: string;
  args: unknown[];
  options?: SandboxOptions | undefined;
}

type Methods = Record<string, (...args: unknown[]) => Promise<unknown>>;

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const { sandbox, method, args, options } = (await request.json()) as SandboxCall;
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
