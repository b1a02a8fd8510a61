// A round: some callers work, while things break; then nothing breaks any more, what was left is put in order, and the rules
// are looked at. What a round decides depends on its seed alone, as far as processes allow.

import { setTimeout } from 'node:timers/promises';

import { NoAnswer, Refusal, type Way } from '../callers.ts';
import { shown, type Judge } from '../judge.ts';
import { Random } from '../random.ts';
import { SECRETS } from '../secrets.ts';
import type { Stage } from '../stage.ts';
import { Faults } from './faults.ts';
import type { Got, Known, Named, Origin } from './model.ts';
import { Tree } from '../tree.ts';

/** Codes that say that something is not there. */
const NOT_THERE = /_NOT_FOUND$|^BACKUP_(INCOMPLETE|EXPIRED)$/;

/** What somebody wants, and asks for again until it is known what came of it. */
export interface Intention {
  operation: string;
  options: object;
  /** Whether what it is about may be gone. */
  mayBeGone: () => boolean;
  /** Whether it can't be done any more, because files were lost. */
  mayFail: () => boolean;
  /** Keeps in the model, once, what was answered; false where that is not all of it yet. */
  got: (answer: any) => boolean | void;
  /** Whether there is a key: the answer is the same every time. */
  isKeyed: boolean;
  /** What of the answer is the same every time, where that is not all of it. */
  stays?: (answer: any) => unknown;
  answer?: unknown;
  /** A refusal that is the last word. */
  refusal?: Refusal;
}

/** A call in one line: a ref by its id alone. */
function asked({ operation, options }: Intention): string {
  const short = (key: string, value: any) => (key === 'ref' ? value.ref.snapshotId : value);
  return `${operation} ${JSON.stringify(options, short)}`;
}

/** What plays in a round. */
export class Round {
  readonly seed: number;
  readonly stage: Stage;
  readonly judge: Judge;
  readonly random: Random;
  readonly faults: Faults;
  readonly origins: Origin[] = [];
  readonly snapshots: Known[] = [];
  readonly sandboxes: Got[] = [];
  readonly named: Named[] = [];
  readonly intentions = new Set<Intention>();
  /** The Durable Object ids of sandboxes, as far as they were asked for. */
  readonly hexes = new Map<string, string>();
  /** Every Workspace object that there was. */
  readonly workspaces = new Set<string>();
  /** The lines of the log that are not the SDK's, with what was asked for and answered in between. */
  readonly lines: string[] = [];
  /** The calls within workerd that went wrong. */
  readonly meddled: string[] = [];
  /** What there was before it. */
  before: { running: string[]; objects: string[] } = { running: [], objects: [] };
  #downs = 0;

  constructor(seed: number, stage: Stage, judge: Judge) {
    this.seed = seed;
    this.stage = stage;
    this.judge = judge;
    this.random = new Random(seed);
    const random = this.random.fork();
    this.faults = new Faults(() => stage, random, {
      note: (line) => this.note(line),
      onKill: (hex) => this.#lose(hex),
      onDown: () => this.#loseAll(),
      object: () => this.#object(random),
      plan: () => ({
        seed: random.below(2 ** 31),
        rate: random.of([0, 0.02, 0.05, 0.1]),
        most: random.below(12),
      }),
    });
  }

  /** Notes among the lines of the log what happens outside. */
  note(line: string) {
    this.readLog();
    this.lines.push(`${new Date().toISOString()} ${line.replaceAll('\n', ' ')}`);
  }

  /** Has the log judged, and learns of the objects that there are. */
  readLog() {
    this.stage.readLog((line) => {
      if (line.startsWith('{"')) this.lines.push(line);
      const [, name] = /^\{"workspace":"(.*)"\}$/.exec(line) ?? [];
      if (name?.startsWith(this.prefix)) this.workspaces.add(name);
      const [, fault, at] = /^\{"fault":"(\w+)","at":"(.*)"\}$/.exec(line) ?? [];
      if (fault !== undefined) this.meddled.push(`${at} ${fault}`);
    });
  }

  /** Where somebody works: sandboxes with files of their own. */
  get places(): Origin[] {
    return [...this.origins, ...this.sandboxes.flatMap(({ place }) => (place ? [place] : []))];
  }

  /** How the names of everything in it begin. */
  get prefix(): string {
    return `r${this.seed}-`;
  }

  violation(text: string) {
    this.judge.violation(`round ${this.seed}: ${text}`);
  }

  same(actual: unknown, expected: unknown, what: string) {
    this.judge.same(actual, expected, `round ${this.seed}: ${what}`);
  }

  /** Asks for something, once. Answers what stands in the way of knowing what came of it, if anything does. */
  async ask(intention: Intention, caller: string, way: Way, signal = false): Promise<string | undefined> {
    if (intention.refusal || (intention.answer !== undefined && !intention.isKeyed)) return undefined;
    this.note(`asked: ${asked(intention)}`);
    try {
      const answer = await this.stage.callers.call(
        caller,
        way,
        intention.operation,
        intention.options,
        signal,
      );
      this.note(`answered: ${intention.operation}: ${shown(answer)}`);
      if (intention.answer === undefined) {
        if (intention.got(answer) === false) return `not all of it: ${shown(answer)}`;
        intention.answer = answer ?? null;
      } else {
        const [second, first] = [answer, intention.answer].map(intention.stays ?? ((all) => all));
        this.same(second, first, `the second answer of ${intention.operation} to one key`);
      }
      return undefined;
    } catch (error) {
      this.note(`failed: ${intention.operation}: ${(error as Error).message}`);
      if (error instanceof NoAnswer) return error.message;
      if (!(error instanceof Refusal)) throw error;
      this.#judge(intention, error);
      return error.message;
    }
  }

  /** "Not there" is said of nothing that is there. */
  #judge(intention: Intention, refusal: Refusal) {
    const isLast = !refusal.retryable && refusal.code !== 'WORKSPACE_UNAVAILABLE';
    if (intention.mayBeGone()) {
      if (isLast) intention.refusal = refusal;
    } else if (NOT_THERE.test(refusal.code)) {
      this.violation(`What is there was said not to be: ${asked(intention)}: ${refusal.message}`);
    } else if (intention.mayFail() && isLast) {
      intention.refusal = refusal;
    }
  }

  /** Asks until it is known what came of it; it is a violation where that does not come, since nothing breaks any more. */
  async insist(intention: Intention) {
    const way = this.random.of(['rpc', 'http'] as const);
    let why: string | undefined;
    for (let times = 0; times < 5; times += 1) {
      why = await this.ask(intention, `${this.prefix}-again`, way);
      if (why === undefined || intention.refusal) return;
      await setTimeout(100);
    }
    if (intention.mayFail()) return;
    this.violation(`${asked(intention)} comes to nothing, although nothing breaks any more: ${why}`);
  }

  /** Learns the Durable Object's id of a sandbox, by which it is known to be killed. */
  async learn(sandboxId: string): Promise<string> {
    const known = this.hexes.get(sandboxId);
    if (known !== undefined) return known;
    const hex = await this.stage.world.hex(sandboxId);
    this.hexes.set(sandboxId, hex);
    return hex;
  }

  /** Whether its container was killed since it was handed out, or so shortly before that nobody could have seen it. */
  async isLost({ id, at }: Got): Promise<boolean> {
    return this.faults.wasKilled(await this.learn(id), at);
  }

  /**
   * Changes the files of an origin. Where its container was killed, before or meanwhile, another one has them not: all files
   * are written anew then, and it is not killed any more.
   */
  async write(origin: Origin, random: Random) {
    for (let times = 0; times < 5; times += 1) {
      const { downs } = this;
      const isAnew = origin.isLost;
      if (isAnew) origin.wasRevived = true;
      const { tree, command } = (isAnew ? new Tree() : origin.tree).changed(random);
      const done = await this.execute(origin.id, isAnew ? `find . -mindepth 1 -delete; ${command}` : command);
      if (isAnew && downs === this.downs) origin.isLost = false;
      if (!done) origin.isLost = true;
      if (origin.isLost) continue;
      origin.versions.push(tree);
      return;
    }
  }

  /** Runs a command that may be run again, until it is done; gives up after a while. */
  async execute(sandboxId: string, command: string): Promise<boolean> {
    for (let times = 0; times < 20; times += 1) {
      try {
        await this.stage.world.exec(sandboxId, command);
        return true;
      } catch {
        await setTimeout(100);
      }
    }
    return false;
  }

  /** The secret of a workspace's variable. */
  secret(): string {
    return `${SECRETS.variable}-${this.random.word(6)}`;
  }

  /** The sandbox of a Durable Object's id. */
  nameOf(hex: string): string | undefined {
    for (const [name, known] of this.hexes) if (known === hex) return name;
    return undefined;
  }

  #lose(hex: string): boolean {
    const id = this.nameOf(hex);
    const origin = this.places.find((each) => each.id === id);
    if (origin?.wasRevived) return false;
    if (origin) origin.isLost = true;
    // One that is not known is of a workspace, or is somebody's soon.
    for (const named of this.named) if (named.sandboxId === id || id === undefined) named.isLost = true;
    return true;
  }

  #loseAll() {
    this.#downs += 1;
    for (const place of this.places) place.isLost = true;
    for (const named of this.named) named.isLost = true;
  }

  /** How often everything ended at once. */
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
