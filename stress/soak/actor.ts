// Somebody who works: in a sandbox, in those that were made from it, and in workspaces with names. Nobody else does, so that
// the model is exact; but all do so at the same time, and share a template.

import { setTimeout } from 'node:timers/promises';

import { Refusal, type Way } from '../callers.ts';
import type { Random } from '../random.ts';
import type { Stage } from '../stage.ts';
import { Sandbox, type Snapshot } from './model.ts';
import type { NamedWorkspace } from './named.ts';

/** Something that an actor does, and compares with the model. */
export type Operation = (actor: Actor) => Promise<void>;

/** How long something that comes by itself may take, in milliseconds. */
const EVENTUALLY_MILLIS = 20_000;

/** An actor, and what is its own. */
export class Actor {
  readonly name: string;
  readonly stage: Stage;
  readonly random: Random;
  /** A snapshot that all actors make sandboxes from. */
  readonly template: Snapshot;
  /** The sandbox that it began with. */
  home!: Sandbox;
  /** The sandboxes that were made from snapshots. */
  derived: Sandbox[] = [];
  /** The workspaces with names that there are. */
  named: NamedWorkspace[] = [];
  /** Backups that it made without the snapshotter. */
  readonly backups: string[] = [];
  /** Every sandbox that it has had since it began. */
  readonly known = new Set<string>();
  /** How many restored sandboxes were compared with the model. */
  compared = 0;
  #homes = 0;

  constructor(name: string, stage: Stage, random: Random, template: Snapshot) {
    this.name = name;
    this.stage = stage;
    this.random = random;
    this.template = template;
  }

  /** Begins with a new sandbox, which has some files. */
  async begin() {
    this.#homes += 1;
    this.home = new Sandbox(`${this.name}-${this.#homes}`);
    this.derived = [];
    this.named = [];
    this.known.clear();
    this.known.add(this.home.id);
    await this.write(this.home);
  }

  /** Every sandbox that has files of its own. */
  get sandboxes(): Sandbox[] {
    return [this.home, ...this.derived];
  }

  /** Every snapshot of its own. */
  get snapshots(): Snapshot[] {
    return this.sandboxes.flatMap(({ snapshots }) => snapshots);
  }

  /** Calls an operation, as one of its Durable Objects, in one way or the other. */
  call(operation: string, options: object, way: Way = this.random.of(['rpc', 'rpc', 'http'])): Promise<any> {
    return this.stage.callers.call(this.caller, way, operation, options);
  }

  /** One of its Durable Objects. */
  get caller(): string {
    return `${this.name}-caller-${this.random.below(3)}`;
  }

  /** The call is refused with this code; answers the message. */
  async refused(code: string, operation: string, options: object): Promise<string> {
    try {
      const answer: unknown = await this.call(operation, options);
      this.violation(
        `${operation} should have been refused with ${code}, and answered ${JSON.stringify(answer)}`,
      );
      return '';
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.same(error.code, code, `the refusal of ${operation}: ${error.message}`);
      return error.message;
    }
  }

  /** Changes some files. */
  async write(sandbox: Sandbox) {
    const { tree, command } = sandbox.tree.changed(this.random);
    await this.stage.world.exec(sandbox.id, command);
    sandbox.tree = tree;
  }

  /** Compares the files of a sandbox with the model. */
  async compare(sandbox: Sandbox, what: string) {
    this.same(
      await this.stage.files(sandbox.id),
      sandbox.tree.listing,
      `the files of ${what} (${sandbox.id})`,
    );
  }

  same(actual: unknown, expected: unknown, what: string) {
    this.stage.judge.same(actual, expected, `${this.name}: ${what}`);
  }

  violation(text: string) {
    this.stage.judge.violation(`${this.name}: ${text}`);
  }

  /** Waits for what comes by itself; it is a violation when it does not. */
  async eventually(what: string, condition: () => Promise<boolean>) {
    const end = Date.now() + EVENTUALLY_MILLIS;
    while (!(await condition())) {
      if (Date.now() > end)
        return this.violation(`${what} did not come within ${EVENTUALLY_MILLIS / 1000} s`);
      await setTimeout(20);
    }
  }

  /** Does one thing. One that fails is a violation, and it begins anew. */
  async act(operations: readonly (readonly [weight: number, operation: Operation])[]) {
    const operation = this.random.weighted(operations);
    try {
      await operation(this);
    } catch (error) {
      this.violation(`${operation.name} failed: ${(error as Error).stack}`);
      await this.begin();
    }
  }
}
