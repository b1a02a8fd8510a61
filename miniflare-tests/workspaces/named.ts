// A named workspace, for tests.

import { until, type World } from '../world.ts';
import type {
  DeletedWorkspace,
  ForkedWorkspaces,
  StartedWorkspace,
  StoppedWorkspace,
  TurnEnded,
  Workspace,
} from '../../client/src/index.ts';

/** A named workspace, which need not exist. */
export class NamedWorkspace {
  readonly #world: World;
  readonly name: string;
  readonly #address: { name: string; tenant?: string };

  constructor(world: World, name: string, tenant?: string) {
    this.#world = world;
    this.name = name;
    this.#address = { name, ...(tenant === undefined ? {} : { tenant }) };
  }

  create(options: object = {}): Promise<StartedWorkspace> {
    return this.#call('create', options);
  }

  getOrCreate(options: object = {}): Promise<StartedWorkspace> {
    return this.#call('getOrCreate', options);
  }

  describe(): Promise<Workspace> {
    return this.#call('getByName');
  }

  start(options: object = {}): Promise<StartedWorkspace> {
    return this.#call('start', options);
  }

  stop(): Promise<StoppedWorkspace> {
    return this.#call('stop');
  }

  turnEnded(): Promise<TurnEnded> {
    return this.#call('turnEnded');
  }

  fork(options: object = {}): Promise<ForkedWorkspaces> {
    return this.#call('fork', options);
  }

  update(options: object): Promise<Workspace> {
    return this.#call('update', options);
  }

  promote(options: object): Promise<Workspace> {
    return this.#call('promote', options);
  }

  delete(): Promise<DeletedWorkspace> {
    return this.#call('delete');
  }

  /** Returns the id of its present sandbox. */
  async sandboxId(): Promise<string> {
    return (await this.describe()).sandboxId;
  }

  async state(): Promise<string> {
    return (await this.describe()).state;
  }

  /** Runs a command in its present sandbox. The command must succeed. */
  async exec(command: string): Promise<string> {
    return this.#world.exec(await this.sandboxId(), command);
  }

  /** Returns whether its present sandbox runs. */
  async isRunning(): Promise<boolean> {
    return this.#world.running().includes(await this.#world.objectId(await this.sandboxId()));
  }

  /** Ends its container without a snapshot, as the SDK does after `sleepAfter`. */
  async endContainer() {
    const id = await this.sandboxId();
    await this.#world.sandbox(id, 'stop');
    await until(async () => (await this.#world.sandbox(id, 'getState')).status.startsWith('stopped'));
  }

  /** Ends its container, and runs a command, which cold-starts another container. */
  async coldStart(command: string) {
    await this.endContainer();
    const hasRun = async () => {
      try {
        await this.exec(command);
        return true;
      } catch (error) {
        // The SDK still handles the end of the container. The command can be retried.
        if ((error as Error).name === 'OperationInterruptedError') return false;
        throw error;
      }
    };
    await until(hasRun);
  }

  /** Returns the ids of its present sandbox's snapshots, the newest first. */
  async snapshots(): Promise<string[]> {
    const { snapshots } = await this.#world.list(await this.sandboxId(), { limit: 100 });
    return snapshots.map(({ snapshotId }) => snapshotId);
  }

  /** Restores a snapshot of its present sandbox, and returns the output of a command in the new one, which it destroys. */
  async printFromSnapshot(snapshotId: string, command: string, sandboxId?: string): Promise<string> {
    const origin = sandboxId ?? (await this.sandboxId());
    const { ref } = await this.#world.rpc('restore', { sandboxId: origin, snapshotId });
    const printed = await this.#world.exec(ref.sandboxId, command);
    await this.#world.sandbox(ref.sandboxId, 'destroy');
    return printed;
  }

  /** Advances the clock, and runs the due alarms of its object and of its present sandbox's Workspace object. */
  async advanceClock(seconds: number) {
    await this.#world.rpc('advanceClock', { ...this.#address, sandboxId: await this.sandboxId(), seconds });
  }

  #call(operation: string, options: object = {}): Promise<any> {
    return this.#world.rpc(`workspaces/${operation}`, { ...this.#address, ...options });
  }
}
