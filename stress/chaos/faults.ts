// What breaks in a round: workerd, containers, objects, calls. When it does is counted in calls into sandboxes, so that it
// falls into the midst of something.

import { setTimeout } from 'node:timers/promises';

import type { EngineOptions } from '../../local-engine/index.ts';
import type { Random } from '../random.ts';
import type { Stage } from '../stage.ts';

type Call = Parameters<NonNullable<EngineOptions['onCall']>>[0];

/** A fault by its name. */
export type Fault =
  | 'workerd is killed'
  | 'the machine goes down'
  | 'a container is killed'
  | 'a container is killed in a call'
  | 'a call into a container fails'
  | 'a call into a container is slow'
  | 'an object is ended';

const FAULTS: readonly (readonly [weight: number, fault: Fault])[] = [
  [4, 'workerd is killed'],
  [1, 'the machine goes down'],
  [2, 'a container is killed'],
  [3, 'a container is killed in a call'],
  [3, 'a call into a container fails'],
  [2, 'a call into a container is slow'],
  [3, 'an object is ended'],
];

/** How many calls into sandboxes may pass until the next fault. */
const CALLS_BETWEEN = 30;

/** How long after a call a fault may come that is not part of it, in milliseconds. */
const LATER_MILLIS = 150;

/** What the faults need of the round. */
export interface Victims {
  /** A container is going to be killed: its Durable Object's id. False where it must not be. */
  onKill(hex: string): boolean;
  /** Everything that runs ends at once. */
  onDown(): void;
  /** An object that can be ended, as the clock's Worker names it. */
  object(): object | undefined;
  /** Notes what happened. */
  note(line: string): void;
  /** A plan for calls that go wrong within workerd. */
  plan(): object;
}

/** The faults of a round. */
export class Faults {
  readonly #stage: () => Stage;
  readonly #random: Random;
  readonly #victims: Victims;
  /** Those that came about. */
  readonly happened: Fault[] = [];
  /** When each container was killed last. */
  readonly #killed = new Map<string, number>();
  /** When each container was called. */
  readonly #called = new Map<string, number[]>();
  #left: Fault[];
  #countdown: number;
  #isOn = false;
  /** One death of workerd comes after the other: it has to be there to die. */
  #death: Promise<void> = Promise.resolve();
  #underway = new Set<Promise<void>>();

  constructor(stage: () => Stage, random: Random, victims: Victims) {
    this.#stage = stage;
    this.#random = random;
    this.#victims = victims;
    this.#left = Array.from({ length: 2 + random.below(4) }, () => random.weighted(FAULTS));
    this.#countdown = random.below(CALLS_BETWEEN);
  }

  /** From now on things break. */
  async begin() {
    this.#isOn = true;
    await this.#arm();
  }

  /** Nothing breaks any more. */
  async end() {
    this.#isOn = false;
    for (; this.#underway.size > 0;) await Promise.all(this.#underway);
    await this.#stage().world.rpc('arm', { rate: 0, most: 0, seed: 0 });
  }

  /** What the engine tells of each call into a sandbox, before it is carried out. */
  async onCall(call: Call) {
    const now = performance.now();
    this.#victims.note(`into ${call.sandboxId}: ${call.method} ${(call.command ?? '').slice(0, 60)}`);
    this.#called.set(call.sandboxId, [...(this.#called.get(call.sandboxId) ?? []), now]);
    if (!this.#isOn || this.#left.length === 0 || this.#countdown-- > 0) return;
    this.#countdown = this.#random.below(CALLS_BETWEEN);
    await this.#happen(this.#left.pop()!, call, now);
  }

  #did(fault: Fault, what = '') {
    this.happened.push(fault);
    this.#victims.note(`${fault} ${what}`);
  }

  /** Whether a container may have been killed since then, or so shortly before that nobody has called it in between. */
  wasKilled(hex: string, since: number): boolean {
    const killed = this.#killed.get(hex);
    if (killed === undefined) return false;
    const wasSeen = (this.#called.get(hex) ?? []).some((at) => killed <= at && at <= since);
    return killed > since || !wasSeen;
  }

  async #happen(fault: Fault, call: Call, now: number) {
    switch (fault) {
      case 'a call into a container fails':
        this.#did(fault, call.method);
        throw new Error('the disk is full');
      case 'a call into a container is slow':
        this.#did(fault, call.method);
        return void (await setTimeout(100 + this.#random.below(900)));
      case 'a container is killed in a call':
        return this.#kill(call.sandboxId, fault, now, call);
      default:
        this.#later(fault);
    }
  }

  /** Has something break by itself, soon. */
  #later(fault: Fault) {
    const millis = this.#random.next() ** 2 * LATER_MILLIS;
    const victim = this.#random.next();
    const work = setTimeout(millis).then(() => this.#break(fault, victim));
    const settled = work.catch(() => {});
    this.#underway.add(settled);
    void settled.then(() => this.#underway.delete(settled));
  }

  async #break(fault: Fault, victim: number) {
    const { world } = this.#stage();
    if (fault === 'a container is killed') {
      const running = world.running();
      const hex = running[Math.trunc(victim * running.length)];
      if (hex !== undefined) await this.#kill(hex, fault);
    } else if (fault === 'an object is ended') {
      const object = this.#victims.object();
      if (object === undefined) return;
      this.#did(fault, JSON.stringify(object));
      await world.rpc('end', object).catch(() => {});
    } else {
      this.#death = this.#death.then(() => this.#die(fault));
      await this.#death;
    }
  }

  async #die(fault: Fault) {
    const { world } = this.#stage();
    this.#did(fault);
    const isDown = fault === 'the machine goes down';
    if (isDown) this.#victims.onDown();
    const hexes = isDown ? world.running() : [];
    for (const hex of hexes) this.#killed.set(hex, performance.now());
    await Promise.all([world.crash(), ...hexes.map((hex) => world.killHex(hex))]);
    if (this.#isOn) await this.#arm();
  }

  async #kill(hex: string, fault: Fault, at = performance.now(), call?: Call) {
    if (!this.#victims.onKill(hex)) return;
    this.#did(fault, `${hex} ${call?.method ?? ''} ${call?.command ?? ''}`);
    this.#killed.set(hex, at);
    await this.#stage().world.killHex(hex);
  }

  async #arm() {
    // When workerd is killed once more meanwhile, that one arms it.
    await this.#stage()
      .world.rpc('arm', this.#victims.plan())
      .catch(() => {});
  }
}
