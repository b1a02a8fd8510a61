// A Worker and a Durable Object that run the steps of a test through the client.

import { DurableObject } from 'cloudflare:workers';

import {
  http,
  service,
  SnapshotterClient,
  SnapshotterError,
  type OperationName,
} from '../../../client/src/index.ts';
import type { Outcome, Route, Step } from './steps.ts';

interface Shell {
  exec(command: string): Promise<{ stdout: string }>;
}

interface Env {
  Visitor: DurableObjectNamespace<Visitor>;
  Sandbox: DurableObjectNamespace;
  SNAPSHOTTER: Fetcher;
  PROXY: Fetcher;
  FAILING: Fetcher;
}

function clientOf(env: Env, { binding = 'SNAPSHOTTER', token = '', overFetch = false }: Route = {}) {
  const bound = env[binding];
  const fetch = (url: string, init: RequestInit) => bound.fetch(url, init);
  const transport = overFetch
    ? http({ url: 'https://snapshotter', token, fetch })
    : service(bound, { token: token || undefined });
  return new SnapshotterClient(transport, { retry: { baseMs: 1 } });
}

async function runStep(env: Env, step: Step, signal?: AbortSignal): Promise<unknown> {
  const client = clientOf(env, step.route);
  switch (step.do) {
    case 'call': {
      const options = { ...step.options, ...(step.signal ? { signal } : {}) };
      return client.call(step.operation as OperationName, options as never);
    }
    case 'all snapshots': {
      const labels: string[] = [];
      for await (const { label } of client.snapshots(step.options)) labels.push(label);
      return labels;
    }
    case 'exec': {
      const sandbox = env.Sandbox.getByName(step.sandboxId) as unknown as Shell;
      return `${(await sandbox.exec(step.command)).stdout}\n`;
    }
    case 'abort':
      return undefined;
  }
}

async function outcome(work: Promise<unknown>): Promise<Outcome> {
  try {
    return { value: (await work) ?? null };
  } catch (error) {
    if (!(error instanceof SnapshotterError)) throw error;
    return { error: { ...error.toJSON(), text: error.message, className: error.constructor.name } };
  }
}

export class Visitor extends DurableObject<Env> {
  #controller = new AbortController();

  override async fetch(request: Request): Promise<Response> {
    const step = await request.json<Step>();
    if (step.do === 'abort') this.#controller.abort();
    return Response.json(await outcome(runStep(this.env, step, this.#controller.signal)));
  }
}

/** `POST /worker` runs the step in the Worker itself, `POST /object` in a Durable Object. */
export default {
  async fetch(request, env): Promise<Response> {
    if (new URL(request.url).pathname === '/object') {
      return env.Visitor.get(env.Visitor.idFromName('visitor')).fetch(request);
    }
    return Response.json(await outcome(runStep(env, await request.json<Step>())));
  },
} satisfies ExportedHandler<Env>;
