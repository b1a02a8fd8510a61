// The soak test: actors run all kinds of operations concurrently, for a long time. At intervals they pause: the clock advances so
// that retention runs, the remaining objects are compared with the model, and the gauges are measured.

import { setTimeout } from 'node:timers/promises';

import { Environment, type EnvironmentOptions } from '../environment.ts';
import { Random } from '../random.ts';
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
import { Violations } from '../violations.ts';

/** The operations of actors, with their relative frequencies. */
const OPERATIONS: readonly (readonly [weight: number, operation: Operation])[] = [
  [10, snapshots.take],
  [8, sandboxes.restore],
  [6, sandboxes.write],
  [6, snapshots.list],
  [5, snapshots.read],
  [12, named.named],
  [3, snapshots.relabel],
  [3, snapshots.pin],
  [4, (actor) => snapshots.remove(actor)],
  [3, sandboxes.compare],
  [2, sandboxes.tools],
  [2, checkpoint],
  [2, snapshots.lineage],
  [2, refused.useForgedRef],
  [1, refused.crossLineage],
  [1, refused.useMissing],
  [1, snapshots.applyPolicy],
  [1, snapshots.importBackup],
  [1, snapshots.rotate],
  [1, refused.sweep],
  [1, refused.health],
];

const ACTORS = 5;
const HOUR = 3600;
const DAY = 24 * HOUR;

/** The maximum number of hours until no row is in a transitional state. */
const MAX_HOURS = 8;

/** The default expiration of snapshots and the retention of tombstones, plus one day. */
const RETENTION = 31 * DAY;

/** The time after which workerd evicts unused objects, with a margin, in milliseconds; and the maximum number of waits for it. */
const EVICTION_MILLIS = 12_000;
const MAX_WAITS = 4;

/** The maximum number of objects in memory after the eviction: objects whose alarms run at that time. */
const MAX_ACTIVE = 4;

/** The options of a soak test. */
export interface SoakOptions extends EnvironmentOptions {
  minutes: number;
  seed: number;
  /** Prints a line. */
  print?: (line: string) => void;
}

/** The result of a soak test. */
export interface SoakOutcome {
  operations: number;
  compared: number;
  samples: Sample[];
  violations: string[];
}

/** Runs a soak test. */
export async function soak({
  minutes,
  seed,
  print = () => {},
  ...options
}: SoakOptions): Promise<SoakOutcome> {
  const violations = new Violations((violation) => print(`VIOLATION ${violation}`));
  await using environment = await Environment.start(violations, options);
  const random = new Random(seed);
  const template = await makeTemplate(environment, random);
  const actors = Array.from(
    { length: ACTORS },
    (_, index) => new Actor(`soak-${index}`, environment, random.fork(), template),
  );
  const samples: Sample[] = [];
  const begin = Date.now();
  const end = begin + minutes * 60_000;
  const epoch = Math.min(60_000, Math.max(4000, (minutes * 60_000) / 12));
  const compared = () => actors.reduce((sum, actor) => sum + actor.compared, 0);
  for (let minute = 1; Date.now() < end || samples.length === 0;) {
    await Promise.all(actors.map((actor) => work(actor, Math.min(end, Date.now() + epoch))));
    await Promise.all(actors.map(prepareForRetention));
    await advanceTime(environment, actors);
    await Promise.all(actors.map(finish));
    await assertClean(environment, template);
    environment.readLog();
    violations.checkAllLogged();
    const sample = epoch >= EVICTION_MILLIS ? await measureIdle(environment) : await measure(environment);
    samples.push(sample);
    if (Date.now() < begin + minute * 60_000) continue;
    minute = Math.floor((Date.now() - begin) / 60_000) + 1;
    const { operations, refusals } = environment.callers;
    print(
      `${minute - 1} min: ${operations} operations, ${refusals} refusals, ${compared()} restores compared, ` +
        `${violations.list.length} violations; ${summary(sample)}`,
    );
  }
  for (const trend of growing(samples)) violations.add(trend);
  return {
    operations: environment.callers.operations,
    compared: compared(),
    samples,
    violations: violations.list,
  };
}

/** Measures after workerd has evicted unused objects: when the number of open files stops falling. */
async function measureIdle(environment: Environment): Promise<Sample> {
  let sample = await measure(environment);
  for (let waits = 0; waits < MAX_WAITS; waits += 1) {
    await setTimeout(EVICTION_MILLIS);
    const next = await measure(environment);
    const isIdle = next.handles >= sample.handles;
    sample = next;
    if (isIdle) break;
  }
  environment.violations.check(sample.active <= MAX_ACTIVE, `${sample.active} unused objects stay in memory`);
  return sample;
}

/** Formats a sample in one line. */
export function summary(sample: Sample): string {
  return Object.entries(sample)
    .map(([gauge, value]) => `${gauge} ${Math.round(value)}`)
    .join(', ');
}

/** Takes and pins the snapshot that all actors restore. */
async function makeTemplate(environment: Environment, random: Random): Promise<Snapshot> {
  const { tree, command } = new Tree().changed(random);
  const origin = new Sandbox('template', tree);
  await environment.world.exec(origin.id, command);
  const { capture, ...ref } = await environment.callers.call('template-caller', 'rpc', 'snapshot', {
    sandboxId: origin.id,
  });
  await environment.callers.call('template-caller', 'rpc', 'pin', { ref });
  return new Snapshot(origin, ref, capture.label);
}

async function work(actor: Actor, end: number) {
  await actor.begin();
  await actor.act([[1, snapshots.take]]);
  await actor.act([[1, sandboxes.restore]]);
  while (Date.now() < end) await actor.act(OPERATIONS);
}

/** Keeps only snapshots of the root sandbox and idle workspaces, which expire when the clock advances. */
async function prepareForRetention(actor: Actor) {
  await actor.act([[1, destroyDerived]]);
}

async function destroyDerived(actor: Actor) {
  for (const sandbox of [...actor.derived]) await sandboxes.destroy(actor, sandbox);
  for (const snapshot of [...actor.root.snapshots])
    if (snapshot.imported || snapshot.dependents.size > 0) await snapshots.remove(actor, snapshot);
  for (const id of actor.backups.splice(0))
    for (const name of ['data.sqsh', 'meta.json'])
      await actor.environment.world.delete(`backups/${id}/${name}`);
}

/** Advances the clock by two months: snapshots expire, workspaces are stopped, and tombstones are deleted. */
async function advanceTime(environment: Environment, actors: Actor[]) {
  await environment.waitForBackups();
  await advanceClock(environment, actors, RETENTION);
  actors.forEach(expire);
  await advanceClock(environment, actors, RETENTION);
  // Ended sandboxes are probed again after a delay, more than once.
  const transient = () =>
    environment.world.rpc('transientRows', {
      sandboxIds: actors.flatMap(({ sandboxIds }) => [...sandboxIds]),
    });
  for (let hours = 0; hours < MAX_HOURS && (await transient()).length > 0; hours += 1)
    await advanceClock(environment, actors, HOUR);
  environment.violations.equal(await transient(), [], 'the rows in a transitional state after two months');
  await environment.world.rpc('resetClock');
}

async function advanceClock(environment: Environment, actors: Actor[], seconds: number) {
  for (const [index, { sandboxIds, named }] of actors.entries()) {
    // All objects share one clock, so only the first call advances it.
    await environment.world.rpc('advanceClock', {
      sandboxIds: [...sandboxIds],
      seconds: index === 0 ? seconds : 0,
    });
    for (const { name } of named)
      await environment.world.rpc('advanceClock', { name, sandboxIds: [...sandboxIds], seconds: 0 });
  }
}

/** Removes expired snapshots from the model: all except pinned ones, those that never expire, and the newest. */
function expire(actor: Actor) {
  for (const snapshot of actor.root.newestFirst.slice(1))
    if (!snapshot.pinned && !snapshot.neverExpires) snapshot.remove();
  for (const workspace of actor.named) {
    // An idle workspace was stopped with a snapshot that the model doesn't know.
    if (workspace.isActive) workspace.last = undefined;
    workspace.isActive = false;
  }
}

/** Compares the remaining objects with the model, and deletes them. */
async function finish(actor: Actor) {
  await actor.act([[1, compareAndDelete]]);
}

async function compareAndDelete(actor: Actor) {
  await snapshots.list(actor);
  for (const workspace of [...actor.named]) {
    await named.start(actor, workspace);
    await named.remove(actor, workspace);
  }
  await sandboxes.destroy(actor, actor.root);
}

/** Checks that only the template is left. */
async function assertClean(environment: Environment, template: Snapshot) {
  const { violations, world } = environment;
  violations.equal(
    world.running(),
    [await world.objectId(template.origin.id)],
    'the running sandboxes after all actors have deleted their objects',
  );
  const { objects } = await environment.callers.call('template-caller', 'rpc', 'manifest', {
    ref: template.ref,
  });
  violations.equal(
    await world.objects(),
    objects.sort(),
    'the objects in R2 after all actors have deleted their objects',
  );
  violations.equal(
    await environment.files(template.origin.id),
    template.tree.listing,
    'the files of the template',
  );
}
