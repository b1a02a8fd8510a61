// A world in which requests that are made up find what they are about.

import { TOKEN, World } from '../world.ts';
import type { Answered } from './document.ts';
import type { Known } from './requests.ts';

/** A request as it goes over HTTP. */
export interface Sent {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

/** The sandbox that most requests are about. */
export const SANDBOX = 'agent-42';

/** Sandboxes, snapshots of them, workspaces and checkpoints. */
export class Place implements AsyncDisposable {
  readonly #world: World;
  readonly #url: URL;

  private constructor(world: World, url: URL) {
    this.#world = world;
    this.#url = url;
  }

  /** The headers that open the API. */
  readonly authorized = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };

  /** Where it is served. */
  get address(): string {
    return this.#url.origin;
  }

  static async start(): Promise<Place> {
    const world = await World.start({ snapshotter: { port: 0 } });
    return new Place(world, await world.url('/'));
  }

  async [Symbol.asyncDispose]() {
    await this.#world[Symbol.asyncDispose]();
  }

  /** Makes what requests may be about, as far as earlier ones have changed it. */
  async prepare(): Promise<Known> {
    const rpc = this.#world.rpc;
    await this.#world.exec(SANDBOX, 'echo first > notes.txt');
    const { ref, providerId } = await rpc('snapshot', {
      sandboxId: SANDBOX,
      label: 'kept',
      replace: true,
      fresh: true,
    });
    const before = await rpc('snapshot', { sandboxId: SANDBOX, label: 'before', replace: true, fresh: true });
    const { cursor } = await rpc('list', { sandboxId: SANDBOX, limit: 1 });
    const backup = await this.#world.backUp(SANDBOX);
    for (const tenant of ['team', undefined]) await this.#world.workspace('work', tenant).getOrCreate();
    await rpc('checkpoints/create', { sandboxId: SANDBOX, name: 's1' });
    return {
      sandboxId: SANDBOX,
      ref: { providerId, ref },
      snapshotId: before.ref.snapshotId,
      cursor,
      backup,
    };
  }

  /** Sends a request; a POST of JSON with the token where `sent` says nothing else. */
  async send(path: string, sent: Sent = {}): Promise<Answered> {
    const init = { method: 'POST', headers: this.authorized, ...sent };
    const answer = await fetch(new URL(path, this.#url), init);
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  }
}
