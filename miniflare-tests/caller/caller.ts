// A Worker with a Durable Object that runs the steps of a test: it calls the snapshotter or a sandbox, or accesses the
// bucket. It also exports the class of the sandboxes, for the topology in which the application does.

import { getSandbox, type Sandbox as SandboxClass } from '@cloudflare/sandbox';
import { DurableObject } from 'cloudflare:workers';

import { rpc, SnapshotterClient, type ExecStreamOptions, type WriteOptions } from '../../client/src/index.ts';
import type { Answer, Step, Thrown } from './steps.ts';

export { Sandbox } from '@cloudflare/sandbox';

type Methods = Record<string, (...args: unknown[]) => Promise<unknown>>;

export interface Env {
  Caller: DurableObjectNamespace<Caller>;
  Sandbox: DurableObjectNamespace<SandboxClass>;
  /** The sandboxes of the runtime `container`, in a deployment with both runtimes. */
  SnapshotSandbox?: DurableObjectNamespace;
  SNAPSHOTTER: Fetcher & Methods;
  BUCKET: R2Bucket;
}

export class Caller extends DurableObject<Env> {
  #abort = new AbortController();

  async runStep(step: Step): Promise<Answer> {
    try {
      return { value: await this.#do(step) };
    } catch (thrown) {
      const error = thrown as Thrown;
      return { error: { ...error, name: error.name, message: error.message } };
    }
  }

  async #do(step: Step): Promise<unknown> {
    switch (step.do) {
      case 'rpc':
        return readBody(await this.#rpc(step.method, step.options, step.signal));
      case 'fetch': {
        const response = await this.env.SNAPSHOTTER.fetch(`http://snapshotter${step.path}`, {
          ...step.init,
          signal: step.signal ? this.#abort.signal : null,
        });
        const headers = Object.fromEntries(response.headers);
        return { status: response.status, headers, body: await response.text() };
      }
      case 'execStream':
        return this.#execStream(step.options, step.cancel);
      case 'writeBytes':
        return this.#writeBytes(step.options, step.length, step.asStream);
      case 'abort':
        return this.#abort.abort();
      case 'sandbox': {
        const sandbox = getSandbox(this.env.Sandbox, step.id) as unknown as Methods;
        return sandbox[step.method]?.(...step.args);
      }
      case 'container': {
        const sandbox = this.env.SnapshotSandbox?.getByName(step.id) as unknown as Methods;
        return sandbox[step.method]?.(...step.args);
      }
      case 'session': {
        // The application creates the session if it does not exist.
        const sandbox = getSandbox(this.env.Sandbox, step.id);
        const created = sandbox.createSession({ id: step.session });
        const session = await created.catch(() => sandbox.getSession(step.session));
        return session.exec(step.command);
      }
      case 'objectId':
        return this.env.Sandbox.idFromName(step.id).toString();
      case 'objects':
        return this.#objects();
      case 'read':
        return (await this.env.BUCKET.get(step.key))?.text();
      case 'write':
        return void (await this.env.BUCKET.put(step.key, step.text));
      case 'copy': {
        const bytes = await (await this.env.BUCKET.get(step.from))?.arrayBuffer();
        return void (await this.env.BUCKET.put(step.to, bytes ?? null));
      }
      case 'delete':
        return this.env.BUCKET.delete(step.key);
      case 'all':
        return Promise.all(step.steps.map((each) => this.#do(each)));
    }
  }

  async #objects(): Promise<string[]> {
    const keys: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.env.BUCKET.list(cursor === undefined ? {} : { cursor });
      keys.push(...page.objects.map(({ key }) => key));
      cursor = page.truncated ? page.cursor : undefined;
    } while (cursor !== undefined);
    return keys.sort();
  }

  /** Runs a command over RPC, and returns its events. With `cancel`, cancels it after its first output. */
  async #execStream(options: object, cancel = false): Promise<unknown> {
    const client = new SnapshotterClient(rpc(this.env.SNAPSHOTTER));
    const events = [];
    for await (const event of await client.execStream(options as ExecStreamOptions)) {
      const text = event.type === 'exit' ? {} : { data: new TextDecoder().decode(event.data) };
      events.push({ ...event, ...text });
      if (cancel) break;
    }
    return events;
  }

  /** Writes a file over RPC. Its bytes are the numbers from 0 to 250, again and again. */
  #writeBytes(options: object, length: number, asStream = false): Promise<unknown> {
    const client = new SnapshotterClient(rpc(this.env.SNAPSHOTTER));
    const bytes = Uint8Array.from({ length }, (_, index) => index % 251);
    const content = asStream ? (new Response(bytes).body as ReadableStream<Uint8Array>) : bytes;
    return client.files.write({ ...options, content } as WriteOptions);
  }

  #rpc(method: string, options: unknown, signal: boolean | undefined): Promise<unknown> {
    const argument = signal ? { ...(options as object), signal: this.#abort.signal } : options;
    // The methods of a stub must be called on the stub.
    const [name, group] = method.split('/').reverse() as [string, string?];
    if (group === undefined) return (this.env.SNAPSHOTTER as Methods)[name]!(argument);
    return (this.env.SNAPSHOTTER as unknown as Record<string, Methods>)[group]![name]!(argument);
  }
}

/** Replaces the stream of a download by its text. */
async function readBody(answer: unknown): Promise<unknown> {
  const { body, ...others } = Object(answer) as { body?: unknown };
  return body instanceof ReadableStream ? { ...others, text: await new Response(body).text() } : answer;
}

export default {
  async fetch(request, env): Promise<Response> {
    const name = new URL(request.url).pathname.slice(1);
    return Response.json(await env.Caller.getByName(name).runStep(await request.json()));
  },
} satisfies ExportedHandler<Env>;
