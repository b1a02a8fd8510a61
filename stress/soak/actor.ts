// An actor uses its own sandbox, the sandboxes made from it, and named workspaces. No other actor uses them, so the model is
// exact. All actors work concurrently, and share a template.

import { setTimeout } from 'node:timers/promises';

import { Refusal, type Transport } from '../callers.ts';
import type { Environment } from '../environment.ts';
import type { Random } from '../random.ts';
import { Sandbox, type Snapshot } from './model.ts';
import type { NamedWorkspace } from './named.ts';

/** An operation of an actor, which compares its results with the model. */
export type Operation = (actor: Actor) => Promise<void>;

/** The time limit for asynchronous effects, in milliseconds. */
const EVENTUALLY_MILLIS = 20_000;

/** An actor with its sandboxes, snapshots and workspaces. */
export class Actor {
  readonly name: string;
  readonly environment: Environment;
  readonly random: Random;
  /** A snapshot that all actors restore. */
  readonly template: Snapshot;
  /** The first sandbox. */
  root!: Sandbox;
  /** The existing sandboxes that were made from snapshots. */
  derived: Sandbox[] = [];
  /** The existing named workspaces. */
  named: NamedWorkspace[] = [];
  /** The ids of backups that the actor made without the snapshotter. */
  readonly backups: string[] = [];
  /** The ids of all sandboxes since the last start. */
  readonly sandboxIds = new Set<string>();
  /** The number of restored sandboxes that were compared with the model. */
  compared = 0;
  #roots = 0;

  constructor(name: string, environment: Environment, random: Random, template: Snapshot) {
    this.name = name;
    this.environment = environment;
    this.random = random;
    this.template = template;
  }

  /** Starts with a new sandbox that has some files. */
  async begin() {
    this.#roots += 1;
    this.root = new Sandbox(`${this.name}-${this.#roots}`);
    this.derived = [];
    this.named = [];
    this.sandboxIds.clear();
    this.sandboxIds.add(this.root.id);
    await this.write(this.root);
  }

  /** All existing sandboxes. */
  get sandboxes(): Sandbox[] {
    return [this.root, ...this.derived];
  }

  /** All existing snapshots of these sandboxes. */
  get snapshots(): Snapshot[] {
    return this.sandboxes.flatMap(({ snapshots }) => snapshots);
  }

  /** Calls an operation as one of its Durable Objects, over a random transport. */
  call(
    operation: string,
    options: object,
    transport: Transport = this.random.of(['rpc', 'rpc', 'http']),
  ): Promise<any> {
    return this.environment.callers.call(this.caller, transport, operation, options);
  }

  /** The name of one of its Durable Objects. */
  get caller(): string {
    return `${this.name}-caller-${this.random.below(3)}`;
  }

  /** Checks that a call is refused with this code, and returns the message. */
  async expectRefusal(code: string, operation: string, options: object): Promise<string> {
    try {
      const answer: unknown = await this.call(operation, options);
      this.violation(`${operation} returned ${JSON.stringify(answer)}, expected a refusal with ${code}`);
      return '';
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.equal(error.code, code, `the refusal of ${operation}: ${error.message}`);
      return error.message;
    }
  }

  /** Changes some files. */
  async write(sandbox: Sandbox) {
    const { tree, command } = sandbox.tree.changed(this.random);
    await this.environment.world.exec(sandbox.id, command);
    sandbox.tree = tree;
  }

  /** Compares the files of a sandbox with the model. */
  async compare(sandbox: Sandbox, what: string) {
    this.equal(
      await this.environment.files(sandbox.id),
      sandbox.tree.listing,
      `the files of ${what} (${sandbox.id})`,
    );
  }

  equal(actual: unknown, expected: unknown, what: string) {
    this.environment.violations.equal(actual, expected, `${this.name}: ${what}`);
  }

  violation(text: string) {
    this.environment.violations.add(`${this.name}: ${text}`);
  }

  /** Waits until the condition is true. Records a violation if it is not true within the time limit. */
  async eventually(what: string, condition: () => Promise<boolean>) {
    const end = Date.now() + EVENTUALLY_MILLIS;
    while (!(await condition())) {
      if (Date.now() > end) return this.violation(`${what}: not true within ${EVENTUALLY_MILLIS / 1000} s`);
      await setTimeout(20);
    }
  }

  /** Runs a random operation. If it throws, records a violation and starts with a new sandbox. */
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
