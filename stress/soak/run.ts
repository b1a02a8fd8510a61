// The soak: many callers do all kinds of things at the same time, for long. Now and then they rest: time passes, so that
// retention does its work, what is left is compared with the model, and what must be flat is measured.

import { setTimeout } from 'node:timers/promises';

import { Judge } from '../judge.ts';
import { Random } from '../random.ts';
import { Stage, type StageOptions } from '../stage.ts';
import { Actor, type Operation } from './actor.ts';
import { checkpoint } from './checkpoints.ts';
import { measure, type Sample } from './gauges.ts';
import { Sandbox, Snapshot } from './model.ts';
import * as named from './named.ts';
import * as refused from './refused.ts';
import * as sandboxes from './sandboxes.ts';
import * as snapshots from './snapshots.ts';
import { growing } from './trend.ts';
import { Tree } from '../tree.ts';

/** What is done, and how often. */
const OPERATIONS: readonly (readonly [weight: number, operation: Operation])[] = [
  [10, snapshots.take],
  [8, sandboxes.restore],
  [6, sandboxes.write],
  [6, snapshots.list],
  [5, snapshots.look],
  [12, named.named],
  [3, snapshots.relabel],
  [3, snapshots.pin],
  [4, (actor) => snapshots.remove(actor)],
  [3, sandboxes.compare],
  [2, sandboxes.tools],
  [2, checkpoint],
  [2, snapshots.lineage],
  [2, refused.forge],
  [1, refused.trespass],
  [1, refused.miss],
  [1, snapshots.thin],
  [1, snapshots.takeIn],
  [1, snapshots.rotate],
  [1, refused.sweep],
  [1, refused.health],
];

const ACTORS = 5;
const HOUR = 3600;
const DAY = 24 * HOUR;

/** How often an hour may pass until nothing is in a passing state. */
const LOOKS = 8;

/** How long snapshots last that nobody needs, and how long deleted ones are remembered, each with a day more. */
const LONG_ENOUGH = 31 * DAY;

/** After how long workerd puts objects away that nobody uses, and some more, in milliseconds; and how often that is waited for. */
const PUT_AWAY_MILLIS = 12_000;
const RESTS = 4;

/** How many objects may be in memory then: those whose alarm goes off just now. */
const MOST_AWAKE = 4;

/** How a soak goes. */
export interface SoakOptions extends StageOptions {
  minutes: number;
  seed: number;
  /** Receives lines for people. */
  say?: (line: string) => void;
}

/** What came of a soak. */
export interface SoakOutcome {
  operations: number;
  compared: number;
  samples: Sample[];
  violations: string[];
}

/** Runs a soak. */
export async function soak({ minutes, seed, say = () => {}, ...options }: SoakOptions): Promise<SoakOutcome> {
  const judge = new Judge((violation) => say(`VIOLATION ${violation}`));
  await using stage = await Stage.start(judge, options);
  const random = new Random(seed);
  const template = await makeTemplate(stage, random);
  const actors = Array.from(
    { length: ACTORS },
    (_, index) => new Actor(`soak-${index}`, stage, random.fork(), template),
  );
  const samples: Sample[] = [];
  const begin = Date.now();
  const end = begin + minutes * 60_000;
  const epoch = Math.min(60_000, Math.max(4000, (minutes * 60_000) / 12));
  const compared = () => actors.reduce((sum, actor) => sum + actor.compared, 0);
  for (let minute = 1; Date.now() < end || samples.length === 0;) {
    await Promise.all(actors.map((actor) => work(actor, Math.min(end, Date.now() + epoch))));
    await Promise.all(actors.map(lessen));
    await letTimePass(stage, actors);
    await Promise.all(actors.map(finish));
    await isClean(stage, template);
    stage.readLog();
    judge.allAreLogged();
    const sample = epoch >= PUT_AWAY_MILLIS ? await atRest(stage) : await measure(stage);
    samples.push(sample);
    if (Date.now() < begin + minute * 60_000) continue;
    minute = Math.floor((Date.now() - begin) / 60_000) + 1;
    const { operations, refusals } = stage.callers;
    say(
      `${minute - 1} min: ${operations} operations, ${refusals} refusals, ${compared()} restores compared, ` +
        `${judge.violations.length} violations; ${told(sample)}`,
    );
  }
  for (const trend of growing(samples)) judge.violation(trend);
  return {
    operations: stage.callers.operations,
    compared: compared(),
    samples,
    violations: judge.violations,
  };
}

/** Measures when workerd has put away the objects that nobody uses: no file of them is closed any more. */
async function atRest(stage: Stage): Promise<Sample> {
  let least = await measure(stage);
  for (let times = 0; times < RESTS; times += 1) {
    await setTimeout(PUT_AWAY_MILLIS);
    const next = await measure(stage);
    const isAtRest = next.handles >= least.handles;
    least = next;
    if (isAtRest) break;
  }
  stage.judge.holds(least.awake <= MOST_AWAKE, `${least.awake} objects stay in memory that nobody uses`);
  return least;
}

/** A sample in one line. */
export function told(sample: Sample): string {
  return Object.entries(sample)
    .map(([gauge, value]) => `${gauge} ${Math.round(value)}`)
    .join(', ');
}

/** A snapshot that everybody makes sandboxes from. It is pinned. */
async function makeTemplate(stage: Stage, random: Random): Promise<Snapshot> {
  const { tree, command } = new Tree().changed(random);
  const origin = new Sandbox('template', tree);
  await stage.world.exec(origin.id, command);
  const { capture, ...ref } = await stage.callers.call('keeper', 'rpc', 'snapshot', { sandboxId: origin.id });
  await stage.callers.call('keeper', 'rpc', 'pin', { ref });
  return new Snapshot(origin, ref, capture.label);
}

async function work(actor: Actor, end: number) {
  await actor.begin();
  await actor.act([[1, snapshots.take]]);
  await actor.act([[1, sandboxes.restore]]);
  while (Date.now() < end) await actor.act(OPERATIONS);
}

/** Leaves what time is to deal with: the snapshots of the first sandbox, and workspaces that are idle. */
async function lessen(actor: Actor) {
  await actor.act([[1, retireAll]]);
}

async function retireAll(actor: Actor) {
  for (const sandbox of [...actor.derived]) await sandboxes.retire(actor, sandbox);
  for (const snapshot of [...actor.home.snapshots])
    if (snapshot.imported || snapshot.dependents.size > 0) await snapshots.remove(actor, snapshot);
  for (const id of actor.backups.splice(0))
    for (const name of ['data.sqsh', 'meta.json']) await actor.stage.world.delete(`backups/${id}/${name}`);
}

/** Lets two months pass: snapshots expire, workspaces are stopped, and what was deleted is forgotten. */
async function letTimePass(stage: Stage, actors: Actor[]) {
  await stage.quiet();
  await elapse(stage, actors, LONG_ENOUGH);
  actors.forEach(expire);
  await elapse(stage, actors, LONG_ENOUGH);
  // What was ended is looked at again after a while, and then once more.
  const passing = () => stage.world.rpc('passing', { sandboxIds: actors.flatMap(({ known }) => [...known]) });
  for (let times = 0; times < LOOKS && (await passing()).length > 0; times += 1)
    await elapse(stage, actors, HOUR);
  stage.judge.same(await passing(), [], 'what is in a passing state after two months');
  await stage.world.rpc('trueTime');
}

async function elapse(stage: Stage, actors: Actor[], seconds: number) {
  for (const [index, { known, named }] of actors.entries()) {
    // One clock is everybody's.
    await stage.world.rpc('elapse', { sandboxIds: [...known], seconds: index === 0 ? seconds : 0 });
    for (const { name } of named)
      await stage.world.rpc('elapse', { name, sandboxIds: [...known], seconds: 0 });
  }
}

/** What the policy lets go in the model: all but what is pinned, was to last, or is the newest. */
function expire(actor: Actor) {
  for (const snapshot of actor.home.newestFirst.slice(1))
    if (!snapshot.pinned && !snapshot.lasting) snapshot.forget();
  for (const workspace of actor.named) {
    // It was idle, and stopped with a snapshot.
    if (workspace.isActive) workspace.last = undefined;
    workspace.isActive = false;
  }
}

/** Compares what time has left, and lets go of it. */
async function finish(actor: Actor) {
  await actor.act([[1, compareAndLetGo]]);
}

async function compareAndLetGo(actor: Actor) {
  await snapshots.list(actor);
  for (const workspace of [...actor.named]) {
    await named.start(actor, workspace);
    await named.remove(actor, workspace);
  }
  await sandboxes.retire(actor, actor.home);
}

/** Nothing is there but the template. */
async function isClean(stage: Stage, template: Snapshot) {
  const { judge, world } = stage;
  judge.same(
    world.running(),
    [await world.hex(template.origin.id)],
    'the sandboxes that run when nobody works',
  );
  const { objects } = await stage.callers.call('keeper', 'rpc', 'manifest', { ref: template.ref });
  judge.same(await world.objects(), objects.sort(), 'the objects in R2 when nobody works');
  judge.same(await stage.files(template.origin.id), template.tree.listing, 'the files of the template');
}
