// A fixture: a test environment with the entities that generated requests refer to.

import { TOKEN, World } from '../world.ts';
import type { HttpResponse } from './document.ts';
import type { Entities } from './requests.ts';

/** The method, headers and body of a request. */
export interface HttpRequest {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

/** The sandbox that most requests are about. */
export const SANDBOX = 'agent-42';

/** An HTTP API with sandboxes, snapshots, workspaces and checkpoints. */
export class ApiFixture implements AsyncDisposable {
  readonly #world: World;
  readonly #url: URL;
  /** A background command of the sandbox. */
  #command: Promise<{ commandId: string }> | undefined;

  private constructor(world: World, url: URL) {
    this.#world = world;
    this.#url = url;
  }

  /** The headers of an authorized request. */
  readonly authorized = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };

  /** The origin of the API. */
  get address(): string {
    return this.#url.origin;
  }

  static async start(): Promise<ApiFixture> {
    const vars = { SANDBOXES: JSON.stringify([{ binding: 'Sandbox', runtime: 'sdk-0.12' }]) };
    const world = await World.start({ snapshotter: { port: 0, vars } });
    return new ApiFixture(world, await world.url('/'));
  }

  async [Symbol.asyncDispose]() {
    await this.#world[Symbol.asyncDispose]();
  }

  /** Creates the entities that requests refer to, and restores those that earlier requests changed. */
  async prepare(): Promise<Entities> {
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
    const work = await this.#world.workspace('work', 'team').sandboxId();
    const ofWorkspace = await rpc('snapshot', { sandboxId: work, fresh: true });
    await rpc('checkpoints/create', { sandboxId: SANDBOX, name: 's1' });
    this.#command ??= rpc('commands/start', { sandboxId: SANDBOX, command: 'exec sleep 3600' });
    const { commandId } = await this.#command;
    return {
      commandId,
      sandboxId: SANDBOX,
      ref: { providerId, ref },
      snapshotId: before.ref.snapshotId,
      workspaceSnapshotId: ofWorkspace.ref.snapshotId,
      cursor,
      backup,
    };
  }

  /** Sends a request. By default it is a POST of JSON with the API token. */
  async send(path: string, request: HttpRequest = {}): Promise<HttpResponse> {
    const init = { method: 'POST', headers: this.authorized, ...request };
    const answer = await fetch(new URL(path, this.#url), init);
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  }
}
