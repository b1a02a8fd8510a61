// The faults of a round: in workerd, containers, objects and calls. Their times are counted in calls into sandboxes, so that they
// hit operations in progress.

import { setTimeout } from 'node:timers/promises';

import type { EngineOptions, StoredSnapshot } from '../../local-engine/index.ts';
import { PUBLISHED_CLASS } from '../../miniflare-tests/world.ts';
import type { Environment } from '../environment.ts';
import type { Random } from '../random.ts';

type Call = Parameters<NonNullable<EngineOptions['onCall']>>[0];

/** The name of a fault. */
export type Fault =
  | 'workerd is killed'
  | 'the machine goes down'
  | 'a container is killed'
  | 'a container is killed in a call'
  | 'a call into a container fails'
  | 'a call into a container is slow'
  | 'an object is ended'
  | 'a platform snapshot disappears'
  | 'another image is deployed';

const FAULTS: readonly (readonly [weight: number, fault: Fault])[] = [
  [4, 'workerd is killed'],
  [1, 'the machine goes down'],
  [2, 'a container is killed'],
  [3, 'a container is killed in a call'],
  [3, 'a call into a container fails'],
  [2, 'a call into a container is slow'],
  [3, 'an object is ended'],
];

/** The faults of platform snapshots, which only sandboxes over `ctx.container` have. */
const PLATFORM_FAULTS: typeof FAULTS = [
  [4, 'a platform snapshot disappears'],
  [2, 'another image is deployed'],
];

/** The maximum number of calls into sandboxes until the next fault. */
const MAX_CALLS_BETWEEN = 30;

/** The maximum delay of an asynchronous fault after a call, in milliseconds. */
const MAX_DELAY_MILLIS = 150;

/** The connection of the faults to their round. */
export interface FaultTargets {
  /** Called before a container is killed, with the id of its Durable Object. Returns false if it must not be killed. */
  onKill(objectId: string): boolean;
  /** Called before all containers are killed. */
  onDown(): void;
  /** Returns a platform snapshot to delete. */
  platformSnapshot(): StoredSnapshot | undefined;
  /** Called before a platform snapshot is deleted. */
  onDelete(snapshot: StoredSnapshot): void;
  /** Called before another image is deployed. */
  onDeploy(): void;
  /** Returns an object to end, as an argument of `abortObject`. */
  object(): object | undefined;
  /** Writes a line to the log of the round. */
  log(line: string): void;
  /** Returns a fault plan for the calls within workerd. */
  plan(): object;
}

/** Injects the faults of a round. */
export class Faults {
  readonly #environment: () => Environment;
  readonly #random: Random;
  readonly #targets: FaultTargets;
  /** The injected faults. */
  readonly injected: Fault[] = [];
  /** The time when each container was last killed. */
  readonly #killed = new Map<string, number>();
  /** The times of the calls into each container. */
  readonly #called = new Map<string, number[]>();
  #remaining: Fault[];
  #countdown: number;
  #isActive = false;
  /** The last crash of workerd. Crashes run one after the other, because workerd must run to crash. */
  #crash: Promise<void> = Promise.resolve();
  #pending = new Set<Promise<void>>();

  constructor(environment: () => Environment, random: Random, targets: FaultTargets) {
    this.#environment = environment;
    this.#random = random;
    this.#targets = targets;
    const [all, least] = PUBLISHED_CLASS ? [FAULTS, 2] : [[...FAULTS, ...PLATFORM_FAULTS], 5];
    this.#remaining = Array.from({ length: least + random.below(4) }, () => random.weighted(all));
    this.#countdown = random.below(MAX_CALLS_BETWEEN);
  }

  /** Starts injecting faults. */
  async begin() {
    this.#isActive = true;
    await this.#arm();
  }

  /** Stops injecting faults, and waits for pending ones. */
  async end() {
    this.#isActive = false;
    while (this.#pending.size > 0) await Promise.all(this.#pending);
    await this.disarm();
  }

  /** Ends the faults within workerd, and deploys the image of the plan. A crash of workerd reverts to the first image. */
  async disarm() {
    await this.#environment().world.rpc('arm', { ...this.#targets.plan(), rate: 0, most: 0 });
  }

  /** Called by the engine before each call into a sandbox. */
  async onCall(call: Call) {
    const now = performance.now();
    this.#targets.log(`into ${call.sandboxId}: ${call.method} ${(call.command ?? '').slice(0, 60)}`);
    this.#called.set(call.sandboxId, [...(this.#called.get(call.sandboxId) ?? []), now]);
    if (!this.#isActive || this.#remaining.length === 0 || this.#countdown-- > 0) return;
    this.#countdown = this.#random.below(MAX_CALLS_BETWEEN);
    await this.#inject(this.#remaining.pop()!, call, now);
  }

  #record(fault: Fault, what = '') {
    this.injected.push(fault);
    this.#targets.log(`${fault} ${what}`);
  }

  /** Whether a container may have been killed since then, or before without a call in between. */
  wasKilled(objectId: string, since: number): boolean {
    const killed = this.#killed.get(objectId);
    if (killed === undefined) return false;
    const wasCalled = (this.#called.get(objectId) ?? []).some((at) => killed <= at && at <= since);
    return killed > since || !wasCalled;
  }

  async #inject(fault: Fault, call: Call, now: number) {
    switch (fault) {
      case 'a call into a container fails':
        this.#record(fault, call.method);
        throw new Error('the disk is full');
      case 'a call into a container is slow':
        this.#record(fault, call.method);
        return void (await setTimeout(100 + this.#random.below(900)));
      case 'a container is killed in a call':
        return this.#kill(call.sandboxId, fault, now, call);
      default:
        this.#schedule(fault);
    }
  }

  /** Schedules an asynchronous fault. */
  #schedule(fault: Fault) {
    const millis = this.#random.next() ** 2 * MAX_DELAY_MILLIS;
    const choice = this.#random.next();
    const work = setTimeout(millis).then(() => this.#injectScheduled(fault, choice));
    const done = work.catch(() => {});
    this.#pending.add(done);
    void done.then(() => this.#pending.delete(done));
  }

  async #injectScheduled(fault: Fault, choice: number) {
    const { world } = this.#environment();
    if (fault === 'a container is killed') {
      const running = world.running();
      const objectId = running[Math.trunc(choice * running.length)];
      if (objectId !== undefined) await this.#kill(objectId, fault);
    } else if (fault === 'a platform snapshot disappears') {
      const snapshot = this.#targets.platformSnapshot();
      if (snapshot === undefined) return;
      this.#record(fault, `${snapshot.name} of ${snapshot.sandboxId}`);
      this.#targets.onDelete(snapshot);
      world.deletePlatformSnapshot(snapshot);
    } else if (fault === 'another image is deployed') {
      this.#targets.onDeploy();
      this.#record(fault);
      await this.#arm();
    } else if (fault === 'an object is ended') {
      const object = this.#targets.object();
      if (object === undefined) return;
      this.#record(fault, JSON.stringify(object));
      await world.rpc('abortObject', object).catch(() => {});
    } else {
      this.#crash = this.#crash.then(() => this.#crashWorkerd(fault));
      await this.#crash;
    }
  }

  async #crashWorkerd(fault: Fault) {
    const { world } = this.#environment();
    this.#record(fault);
    const isDown = fault === 'the machine goes down';
    if (isDown) this.#targets.onDown();
    const objectIds = isDown ? world.running() : [];
    for (const objectId of objectIds) this.#killed.set(objectId, performance.now());
    await Promise.all([world.crash(), ...objectIds.map((objectId) => world.killByObjectId(objectId))]);
    if (this.#isActive) await this.#arm();
  }

  async #kill(objectId: string, fault: Fault, at = performance.now(), call?: Call) {
    if (!this.#targets.onKill(objectId)) return;
    this.#record(fault, `${objectId} ${call?.method ?? ''} ${call?.command ?? ''}`);
    this.#killed.set(objectId, at);
    await this.#environment().world.killByObjectId(objectId);
  }

  async #arm() {
    // If workerd is killed during this call, that crash arms the next process.
    await this.#environment()
      .world.rpc('arm', this.#targets.plan())
      .catch(() => {});
  }
}
