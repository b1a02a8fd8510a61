// A round: callers work while faults are injected. Then the faults stop, the deployment recovers, and the rules are checked. The
// decisions of a round depend only on its seed, except for the scheduling of processes.

import { setTimeout } from 'node:timers/promises';

import type { StoredSnapshot } from '../../local-engine/index.ts';
import { NoAnswer, Refusal, type Transport } from '../callers.ts';
import type { Environment } from '../environment.ts';
import { Random } from '../random.ts';
import { SECRETS } from '../secrets.ts';
import { Tree } from '../tree.ts';
import { truncated, type Violations } from '../violations.ts';
import { Faults } from './faults.ts';
import type { KnownSnapshot, Named, Origin, RestoredSandbox } from './model.ts';

/** The codes of errors that report an object as missing. */
const MISSING = /_NOT_FOUND$|^BACKUP_(INCOMPLETE|EXPIRED)$/;

/** The images of the sandboxes over `ctx.container`. The first one is deployed when workerd starts. */
const IMAGES = ['debian', 'debian:second', 'debian:third'] as const;

/** A call that its caller repeats until its outcome is known. */
export interface RepeatableCall {
  operation: string;
  options: object;
  /** Whether its object may be deleted. */
  mayBeDeleted: () => boolean;
  /** Whether it may fail because files were lost. */
  mayFail: () => boolean;
  /** Updates the model with the first answer. Returns false if the answer is incomplete. */
  onAnswer: (answer: any) => boolean | void;
  /** Whether the call has an idempotency key, so that all answers are equal. */
  isKeyed: boolean;
  /** Returns the part of an answer that is equal in all answers. The default is the whole answer. */
  stablePart?: (answer: any) => unknown;
  answer?: unknown;
  /** A final refusal. */
  refusal?: Refusal;
}

/** Formats a call in one line, with the id of a ref instead of the ref. */
function describe({ operation, options }: RepeatableCall): string {
  const short = (key: string, value: any) => (key === 'ref' ? value.ref.snapshotId : value);
  return `${operation} ${JSON.stringify(options, short)}`;
}

/** The state of a round. */
export class Round {
  readonly seed: number;
  readonly environment: Environment;
  readonly violations: Violations;
  readonly random: Random;
  readonly faults: Faults;
  readonly origins: Origin[] = [];
  readonly snapshots: KnownSnapshot[] = [];
  readonly sandboxes: RestoredSandbox[] = [];
  readonly named: Named[] = [];
  readonly calls = new Set<RepeatableCall>();
  /** The Durable Object ids of sandboxes that were resolved so far, by sandbox id. */
  readonly objectIds = new Map<string, string>();
  /** The names of all Workspace objects so far. */
  readonly workspaces = new Set<string>();
  /** The log of the round: the log lines of the snapshotter, the calls and their answers. */
  readonly lines: string[] = [];
  /** The calls within workerd that had faults. */
  readonly faultyCalls: string[] = [];
  /** The running sandboxes and the objects in R2 before the round. */
  before: { running: string[]; objects: string[] } = { running: [], objects: [] };
  /** The deployed image. */
  image: string = IMAGES[0];
  #downs = 0;

  constructor(seed: number, environment: Environment, violations: Violations) {
    this.seed = seed;
    this.environment = environment;
    this.violations = violations;
    this.random = new Random(seed);
    const random = this.random.fork();
    this.faults = new Faults(() => environment, random, {
      log: (line) => this.log(line),
      onKill: (objectId) => this.#recordKill(objectId),
      onDown: () => this.#recordDown(),
      platformSnapshot: () => random.maybe(this.#newestPlatformSnapshots()),
      onDelete: ({ sandboxId }) => this.#recordDeleted(sandboxId),
      onDeploy: () => (this.image = random.of(IMAGES)),
      object: () => this.#object(random),
      plan: () => ({
        seed: random.below(2 ** 31),
        rate: random.of([0, 0.02, 0.05, 0.1]),
        most: random.below(12),
        image: this.image,
      }),
    });
  }

  /** Adds a line to the log of the round. */
  log(line: string) {
    this.readLog();
    this.lines.push(`${new Date().toISOString()} ${line.replaceAll('\n', ' ')}`);
  }

  /** Reads and checks the log of the Worker, and records the names of its Workspace objects. */
  readLog() {
    this.environment.readLog((line) => {
      if (line.startsWith('{"')) this.lines.push(line);
      const [, name] = /^\{"workspace":"(.*)"\}$/.exec(line) ?? [];
      if (name?.startsWith(this.prefix)) this.workspaces.add(name);
      const [, fault, at] = /^\{"fault":"(\w+)","at":"(.*)"\}$/.exec(line) ?? [];
      if (fault !== undefined) this.faultyCalls.push(`${at} ${fault}`);
    });
  }

  /** All sandboxes whose files callers change. */
  get allOrigins(): Origin[] {
    return [...this.origins, ...this.sandboxes.flatMap(({ origin }) => (origin ? [origin] : []))];
  }

  /** The prefix of all names of the round. */
  get prefix(): string {
    return `r${this.seed}-`;
  }

  violation(text: string) {
    this.violations.add(`round ${this.seed}: ${text}`);
  }

  equal(actual: unknown, expected: unknown, what: string) {
    this.violations.equal(actual, expected, `round ${this.seed}: ${what}`);
  }

  /** Makes a call once. Returns undefined if the outcome is known, otherwise the reason why it is unknown. */
  async call(
    call: RepeatableCall,
    caller: string,
    transport: Transport,
    signal = false,
  ): Promise<string | undefined> {
    if (call.refusal || (call.answer !== undefined && !call.isKeyed)) return undefined;
    this.log(`called: ${describe(call)}`);
    try {
      const answer = await this.environment.callers.call(
        caller,
        transport,
        call.operation,
        call.options,
        signal,
      );
      this.log(`answered: ${call.operation}: ${truncated(answer)}`);
      if (call.answer === undefined) {
        if (call.onAnswer(answer) === false) return `incomplete answer: ${truncated(answer)}`;
        call.answer = answer ?? null;
      } else {
        const [second, first] = [answer, call.answer].map(call.stablePart ?? ((whole) => whole));
        this.equal(second, first, `the second answer of ${call.operation} to one key`);
      }
      return undefined;
    } catch (error) {
      this.log(`failed: ${call.operation}: ${(error as Error).message}`);
      if (error instanceof NoAnswer) return error.message;
      if (!(error instanceof Refusal)) throw error;
      this.#checkRefusal(call, error);
      return error.message;
    }
  }

  /** Checks that no existing object is reported as missing, and records final refusals. */
  #checkRefusal(call: RepeatableCall, refusal: Refusal) {
    const isFinal = !refusal.retryable && refusal.code !== 'WORKSPACE_UNAVAILABLE';
    if (call.mayBeDeleted()) {
      if (isFinal) call.refusal = refusal;
    } else if (MISSING.test(refusal.code)) {
      this.violation(`An existing object was reported as missing: ${describe(call)}: ${refusal.message}`);
    } else if (call.mayFail() && isFinal) {
      call.refusal = refusal;
    }
  }

  /** Repeats a call after the faults have stopped, until its outcome is known. Records a violation if it stays unknown. */
  async repeatUntilKnown(call: RepeatableCall) {
    const transport = this.random.of(['rpc', 'http'] as const);
    let reason: string | undefined;
    for (let attempt = 0; attempt < 5; attempt += 1) {
      reason = await this.call(call, `${this.prefix}-again`, transport);
      if (reason === undefined || call.refusal) return;
      await setTimeout(100);
    }
    if (call.mayFail()) return;
    this.violation(`${describe(call)} fails after the faults have stopped: ${reason}`);
  }

  /** Resolves the Durable Object id of a sandbox, by which faults identify its container. */
  async resolveObjectId(sandboxId: string): Promise<string> {
    const resolved = this.objectIds.get(sandboxId);
    if (resolved !== undefined) return resolved;
    const objectId = await this.environment.world.objectId(sandboxId);
    this.objectIds.set(sandboxId, objectId);
    return objectId;
  }

  /** Whether the container of a restored sandbox was killed after the answer, or before it without a call in between. */
  async isLost({ id, at }: RestoredSandbox): Promise<boolean> {
    return this.faults.wasKilled(await this.resolveObjectId(id), at);
  }

  /**
   * Changes the files of an origin. If its container was killed, before or meanwhile, the new container lacks the files: then all
   * files are rewritten, and the container is not killed again.
   */
  async write(origin: Origin, random: Random) {
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const { downs } = this;
      const isRewrite = origin.isLost;
      if (isRewrite) origin.wasRewritten = true;
      const { tree, command } = (isRewrite ? new Tree() : origin.tree).changed(random);
      const done = await this.execute(
        origin.id,
        isRewrite ? `find . -mindepth 1 -delete; ${command}` : command,
      );
      if (isRewrite && downs === this.downs) origin.isLost = false;
      if (!done) origin.isLost = true;
      if (origin.isLost) continue;
      origin.versions.push(tree);
      return;
    }
  }

  /** Repeats an idempotent command until it succeeds, at most 20 times. Returns whether it succeeded. */
  async execute(sandboxId: string, command: string): Promise<boolean> {
    for (let attempt = 0; attempt < 20; attempt += 1) {
      try {
        await this.environment.world.exec(sandboxId, command);
        return true;
      } catch {
        await setTimeout(100);
      }
    }
    return false;
  }

  /** Returns a secret value for an environment variable. */
  secret(): string {
    return `${SECRETS.variable}-${this.random.word(6)}`;
  }

  /** Returns the sandbox id of a resolved Durable Object id. */
  sandboxIdOf(objectId: string): string | undefined {
    for (const [sandboxId, resolved] of this.objectIds) if (resolved === objectId) return sandboxId;
    return undefined;
  }

  #recordKill(objectId: string): boolean {
    const id = this.sandboxIdOf(objectId);
    const origin = this.allOrigins.find((candidate) => candidate.id === id);
    if (origin?.wasRewritten) return false;
    if (origin) origin.isLost = true;
    // An unresolved container may belong to any workspace.
    for (const named of this.named) if (named.sandboxId === id || id === undefined) named.isLost = true;
    return true;
  }

  #recordDown() {
    this.#downs += 1;
    for (const origin of this.allOrigins) origin.isLost = true;
    for (const named of this.named) named.isLost = true;
  }

  /** Returns the newest platform snapshot of each sandbox of the round. */
  #newestPlatformSnapshots(): StoredSnapshot[] {
    const snapshots = this.environment.world.platformSnapshots();
    const newest = new Map(snapshots.map((snapshot) => [snapshot.sandboxId, snapshot]));
    return [...newest.values()].filter(({ sandboxId }) => this.sandboxIdOf(sandboxId) !== undefined);
  }

  #recordDeleted(objectId: string) {
    const id = this.sandboxIdOf(objectId);
    for (const named of this.named) if (named.sandboxId === id) named.disappeared += 1;
  }

  /** The number of times that the machine went down. */
  get downs(): number {
    return this.#downs;
  }

  #object(random: Random): object | undefined {
    const objects = [
      ...this.origins.map(({ id }) => ({ sandboxId: id })),
      ...this.sandboxes.map(({ id }) => ({ sandboxId: id })),
      ...this.named.flatMap(({ name, sandboxId }) => [{ name }, ...(sandboxId ? [{ sandboxId }] : [])]),
    ];
    return random.maybe(objects);
  }
}
