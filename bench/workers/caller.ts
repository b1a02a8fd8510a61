// An application's Durable Object, which runs the steps of the benchmark and measures their times.

import { getSandbox, type Sandbox } from '@cloudflare/sandbox';
import { DurableObject } from 'cloudflare:workers';

import { Direct, Snapshotter, type Service, type Side } from './sides.ts';
import type { RawContainer } from './raw.ts';
import type { SideName, Step, Timed } from './steps.ts';

type Methods = Record<string, (...args: unknown[]) => Promise<unknown>>;

export interface Env {
  Caller: DurableObjectNamespace<Caller>;
  Sandbox: DurableObjectNamespace<Sandbox>;
  RawContainer: DurableObjectNamespace<RawContainer>;
  BUCKET: R2Bucket;
  LOCAL_BUCKET?: string;
  SANDBOXES: Methods;
  SNAPSHOTTER: Service & Methods;
  TYPESCRIPT: Service & Methods;
}

export class Caller extends DurableObject<Env> {
  async run(step: Step): Promise<Timed> {
    const began = Date.now();
    for (let time = 1; time < (step.times ?? 1); time++) await this.#do(step);
    const value = await this.#do(step);
    return { value, millis: Date.now() - began };
  }

  #side(name: SideName): Side {
    const { Sandbox, BUCKET, LOCAL_BUCKET } = this.env;
    if (name === 'direct') return new Direct(Sandbox, BUCKET, LOCAL_BUCKET === 'true');
    return new Snapshotter(name === 'ours' ? this.env.SNAPSHOTTER : this.env.TYPESCRIPT);
  }

  async #do(step: Step): Promise<unknown> {
    switch (step.do) {
      case 'snapshot':
        return this.#side(step.side).snapshot(step.sandboxId, step.options);
      case 'restore':
        return this.#side(step.side).restore(step.snapshot);
      case 'remove':
        return this.#side(step.side).remove(step.snapshot);
      case 'fork': {
        const side = this.#side(step.side);
        return Promise.all(Array.from({ length: step.count }, () => side.restore(step.snapshot)));
      }
      case 'list':
        return this.#side(step.side).list(step.sandboxId, step.limit);
      case 'call': {
        const [name, group] = step.method.split('/').reverse() as [string, string?];
        if (group === undefined) return this.env.SNAPSHOTTER[name]!(step.options);
        return (this.env.SNAPSHOTTER as unknown as Record<string, Methods>)[group]![name]!(step.options);
      }
      case 'exec': {
        const sandbox = getSandbox(this.env.Sandbox, step.id, { enableDefaultSession: false });
        return sandbox.exec(step.command, { timeout: 600_000 });
      }
      case 'sandbox': {
        const sandbox = getSandbox(this.env.Sandbox, step.id) as unknown as Methods;
        return sandbox[step.method]!(...step.args);
      }
      case 'raw': {
        const container = this.env.RawContainer.getByName(step.id) as unknown as Methods;
        return container[step.method]!(...step.args);
      }
      case 'store':
        return void (await Promise.all(step.objects.map(([key, text]) => this.env.BUCKET.put(key, text))));
      case 'drain':
      case 'takeCounts':
        return undefined;
    }
  }
}

export default {
  async fetch(request, env): Promise<Response> {
    try {
      return Response.json(await env.Caller.getByName('agent').run(await request.json()));
    } catch (error) {
      return new Response(String((error as Error).stack), { status: 500 });
    }
  },
} satisfies ExportedHandler<Env>;
