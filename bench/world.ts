// Where everything is measured: workerd with an application, the sandboxes, the snapshotter and the one in TypeScript.

import { fileURLToPath } from 'node:url';

import { SNAPSHOTTER, startLocal, type Local } from '../scripts/local.ts';
import type { Bill, Counts, Span, Step, Timed } from './workers/steps.ts';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Which main modules the Workers have: their own, some that count what is billed, or some whose ledgers can be filled. */
export type Kind = 'plain' | 'metered' | 'filled';

/** Workers, sandboxes and a bucket. */
export class World implements AsyncDisposable {
  readonly #local: Local;

  private constructor(local: Local) {
    this.#local = local;
  }

  static async start(kind: Kind): Promise<World> {
    const main = (path: string) => (kind === 'metered' ? { main: at(path) } : {});
    const filled = kind === 'filled' ? { main: at('workers/snapshotter-filled.mjs') } : {};
    return new World(
      await startLocal({
        workers: [
          { config: at('workers/caller.toml'), ...main('workers/caller-metered.ts') },
          { config: at('workers/sandboxes.toml'), ...main('workers/sandboxes-metered.ts') },
          { config: at('typescript/wrangler.toml'), ...main('workers/typescript-metered.ts') },
          {
            config: SNAPSHOTTER,
            sandboxesOf: 'sandboxes',
            ...main('workers/snapshotter-metered.mjs'),
            ...filled,
          },
        ],
      }),
    );
  }

  async [Symbol.asyncDispose]() {
    await this.#local.close();
  }

  /** Has the application's Durable Object do something. */
  async perform(step: Step): Promise<Timed> {
    const init = { method: 'POST', body: JSON.stringify(step) };
    const response = await this.#local.miniflare.dispatchFetch('http://caller/', init);
    if (response.status !== 200) throw new Error(`${step.do}: ${await response.text()}`);
    return (await response.json()) as Timed;
  }

  /** Runs a command in a sandbox, and answers what it printed; it must succeed. */
  async exec(id: string, command: string): Promise<string> {
    const { value } = await this.perform({ do: 'run', id, command });
    if (value.exitCode !== 0) throw new Error(`${id}: ${value.stderr}`);
    return value.stdout;
  }

  /** What the files of a sandbox are, in a few letters. */
  async digest(id: string): Promise<string> {
    const list = `find . -type f -print0 | LC_ALL=C sort -z | xargs -0 cksum`;
    return (await this.exec(id, `cd /workspace && ${list} | sha256sum | cut -c 1-16`)).trim();
  }

  /** Ends sandboxes. */
  async end(...ids: string[]) {
    await Promise.all(ids.map((id) => this.perform({ do: 'sandbox', id, method: 'destroy', args: [] })));
  }

  /** Calls an operation of the snapshotter. */
  async call(method: string, options: object): Promise<any> {
    return (await this.perform({ do: 'call', method, options })).value;
  }

  /** What a step costs, in all Workers together, with what goes on behind its answer; and what it was answered. */
  async bill(step: Step): Promise<{ bill: Bill; spans: Span[]; value: any }> {
    await this.perform({ do: 'wait' });
    await this.perform({ do: 'take' });
    const { value } = await this.perform(step);
    await this.perform({ do: 'wait' });
    const counts: Counts[] = (await this.perform({ do: 'take' })).value;
    const sum = (what: keyof Bill) => counts.reduce((all, one) => all + one[what], 0);
    const [requests, rowsRead, rowsWritten] = [sum('requests'), sum('rowsRead'), sum('rowsWritten')];
    const [classA, classB, called] = [sum('classA'), sum('classB'), sum('subrequests')];
    // A call over a service binding is a subrequest too.
    const isService = step.do === 'call' || ('side' in step && step.side !== 'direct');
    const subrequests = called + (isService ? 1 : 0);
    const spans = counts.flatMap((one) => one.spans).sort((one, other) => one.began - other.began);
    return { bill: { requests, rowsRead, rowsWritten, classA, classB, subrequests }, spans, value };
  }
}
