// A workspace with a name, as the tests work with it.

import { until, type World } from '../world.ts';
import type {
  DeletedWorkspace,
  ForkedWorkspaces,
  StartedWorkspace,
  StoppedWorkspace,
  Workspace,
} from '../../client/src/index.ts';

/** A workspace by its name. */
export class Named {
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

  fork(options: object = {}): Promise<ForkedWorkspaces> {
    return this.#call('fork', options);
  }

  update(options: object): Promise<Workspace> {
    return this.#call('update', options);
  }

  delete(): Promise<DeletedWorkspace> {
    return this.#call('delete');
  }

  /** Its present sandbox. */
  async sandboxId(): Promise<string> {
    return (await this.describe()).sandboxId;
  }

  async state(): Promise<string> {
    return (await this.describe()).state;
  }

  /** Runs a command in its present sandbox, which must succeed. */
  async exec(command: string): Promise<string> {
    return this.#world.exec(await this.sandboxId(), command);
  }

  /** Whether its present sandbox runs. */
  async isRunning(): Promise<boolean> {
    return this.#world.running().includes(await this.#world.hex(await this.sandboxId()));
  }

  /** Its container ends as it does when it falls asleep, without a snapshot, and without waiting for the time. */
  async fallAsleep() {
    const id = await this.sandboxId();
    await this.#world.sandbox(id, 'stop');
    await until(async () => (await this.#world.sandbox(id, 'getState')).status.startsWith('stopped'));
  }

  /** It fell asleep, and somebody who does not know of that has run a command, which woke it. */
  async wakeByItself(command: string) {
    await this.fallAsleep();
    const woken = async () => {
      try {
        await this.exec(command);
        return true;
      } catch (error) {
        // The SDK still sees to the container that ended, and says that the command can be tried again.
        if ((error as Error).name === 'OperationInterruptedError') return false;
        throw error;
      }
    };
    await until(woken);
  }

  /** The snapshots of its present sandbox, the newest first. */
  async snapshots(): Promise<string[]> {
    const { snapshots } = await this.#world.list(await this.sandboxId(), { limit: 100 });
    return snapshots.map(({ snapshotId }) => snapshotId);
  }

  /** What a command prints in a sandbox that is made from a snapshot of its present one. That sandbox is ended. */
  async printsIn(snapshotId: string, command: string, sandboxId?: string): Promise<string> {
    const origin = sandboxId ?? (await this.sandboxId());
    const { ref } = await this.#world.rpc('restore', { sandboxId: origin, snapshotId });
    const printed = await this.#world.exec(ref.sandboxId, command);
    await this.#world.sandbox(ref.sandboxId, 'destroy');
    return printed;
  }

  /** Lets time pass for it, and for its present sandbox's workspace. */
  async elapse(seconds: number) {
    await this.#world.rpc('elapse', { ...this.#address, sandboxId: await this.sandboxId(), seconds });
  }

  #call(operation: string, options: object = {}): Promise<any> {
    return this.#world.rpc(`workspaces/${operation}`, { ...this.#address, ...options });
  }
}
