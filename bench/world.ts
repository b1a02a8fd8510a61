// The environment of the measures: workerd with an application, the sandboxes, the snapshotter and the TypeScript snapshotter.

import { fileURLToPath } from 'node:url';

import { modeOfRun, SNAPSHOTTER, startLocal, type Local } from '../scripts/local.ts';
import { named } from '../scripts/runtimes.ts';
import type { Bill, Counts, Span, Step, Timed } from './workers/steps.ts';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/**
 * The main modules of the Workers: their own, metered ones, or ones whose ledgers can be filled; or the kind of snapshots, which
 * are full otherwise.
 */
export type Kind = 'plain' | 'metered' | 'filled' | 'incremental';

/** Workers, sandboxes and a bucket. */
export class World implements AsyncDisposable {
  readonly #local: Local;

  private constructor(local: Local) {
    this.#local = local;
  }

  static async start(kind: Kind): Promise<World> {
    const main = (path: string) => (kind === 'metered' ? { main: at(path) } : {});
    const filled = kind === 'filled' ? { main: at('workers/snapshotter-filled.mjs') } : {};
    const isContainer = modeOfRun() === 'container';
    const sandboxes = isContainer ? 'containers' : 'sandboxes';
    const caller = isContainer ? {} : { without: ['RawContainer'] };
    return new World(
      await startLocal({
        workers: [
          { ...caller, config: at('workers/caller.toml'), ...main('workers/caller-metered.ts') },
          { config: at(`workers/${sandboxes}.toml`), ...main('workers/sandboxes-metered.ts') },
          { config: at('typescript/wrangler.toml'), ...main('workers/typescript-metered.ts') },
          {
            config: SNAPSHOTTER,
            sandboxesOf: 'sandboxes',
            vars: {
              ...(isContainer && named('container')),
              INCREMENTAL: String(kind === 'incremental'),
            },
            ...main('workers/snapshotter-metered.mjs'),
            ...filled,
          },
        ],
        // The scripts of incremental snapshots refuse files in memory.
        engine: { disk: kind === 'incremental' },
      }),
    );
  }

  async [Symbol.asyncDispose]() {
    await this.#local.close();
  }

  /** Runs a step in the application's Durable Object. */
  async run(step: Step): Promise<Timed> {
    const init = { method: 'POST', body: JSON.stringify(step) };
    const response = await this.#local.miniflare.dispatchFetch('http://caller/', init);
    if (response.status !== 200) throw new Error(`${step.do}: ${await response.text()}`);
    return (await response.json()) as Timed;
  }

  /** Runs a command in a sandbox, and returns its output. Throws if the command fails. */
  async exec(id: string, command: string): Promise<string> {
    const { value } = await this.run({ do: 'exec', id, command });
    if (value.exitCode !== 0) throw new Error(`${id}: ${value.stderr}`);
    return value.stdout;
  }

  /** Returns a digest of the files of a sandbox. */
  async digest(id: string): Promise<string> {
    const list = `find . -type f -print0 | LC_ALL=C sort -z | xargs -0 cksum`;
    return (await this.exec(id, `cd /workspace && ${list} | sha256sum | cut -c 1-16`)).trim();
  }

  /** Destroys sandboxes. */
  async destroy(...ids: string[]) {
    await Promise.all(ids.map((id) => this.run({ do: 'sandbox', id, method: 'destroy', args: [] })));
  }

  /** Calls an operation of the snapshotter. */
  async call(method: string, options: object): Promise<any> {
    return (await this.run({ do: 'call', method, options })).value;
  }

  /** Returns the billed usage of a step in all Workers, including work after its answer, and the answer. */
  async bill(step: Step): Promise<{ bill: Bill; spans: Span[]; value: any }> {
    await this.run({ do: 'drain' });
    await this.run({ do: 'takeCounts' });
    const { value } = await this.run(step);
    await this.run({ do: 'drain' });
    const counts: Counts[] = (await this.run({ do: 'takeCounts' })).value;
    const sum = (kind: keyof Bill) => counts.reduce((total, count) => total + count[kind], 0);
    const [requests, rowsRead, rowsWritten] = [sum('requests'), sum('rowsRead'), sum('rowsWritten')];
    const [classA, classB, counted] = [sum('classA'), sum('classB'), sum('subrequests')];
    // The call over the service binding is a subrequest too.
    const isService = step.do === 'call' || ('side' in step && step.side !== 'direct');
    const subrequests = counted + (isService ? 1 : 0);
    const spans = counts.flatMap((count) => count.spans).sort((a, b) => a.began - b.began);
    return { bill: { requests, rowsRead, rowsWritten, classA, classB, subrequests }, spans, value };
  }
}
