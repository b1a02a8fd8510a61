// Workers that die while something is done with a workspace: workerd killed, or the object of the workspace or of its sandbox
// ended, at points that are drawn anew each time. SEED=… repeats the draws, and TIMES=… draws more often.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { after, before, describe, test } from 'node:test';

import { until, World } from '../world.ts';
import type { Named } from './named.ts';

/** How often each death comes during each operation. */
const TIMES = Number(process.env['TIMES'] ?? 1);

const HOUR = 3600;
const PASSING = ['provisioning', 'stopping', 'restoring'];

const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
console.log(`SEED=${seed}`);
const random = generator(seed);

let persist: string;
let world: World;
let onCall: (() => void) | undefined;
let count = 0;

/** What is under test: a workspace, and those that are made from it. */
let workspace: Named;
let forks: Named[];

/** What another test has left, which has failed then. */
let left: { running: string[]; objects: string[] };

before(async () => {
  persist = await mkdtemp(join(tmpdir(), 'world-'));
  const main = fileURLToPath(new URL('../caller/underway.ts', import.meta.url));
  world = await World.start({ clock: true, persist, caller: { main }, onCall: () => onCall?.() });
});
after(async () => {
  await world[Symbol.asyncDispose]();
  await rm(persist, { recursive: true });
});

/** A workspace that has a snapshot with something in its file, and runs with something else in it. */
async function used() {
  await workspace.create();
  await workspace.exec('echo saved > file');
  const { ref } = await world.snapshot(await workspace.sandboxId());
  await workspace.exec('echo written > file');
  return ref.snapshotId;
}

/** Somebody's call that is cut off: what comes before it, the call, and what may be in the file after it. */
interface Operation {
  prepare: () => Promise<() => Promise<unknown>>;
  holds: string[];
  /** Whether there may be no workspace. */
  ends?: boolean;
}

const OPERATIONS: Record<string, Operation> = {
  create: {
    prepare: async () => () => workspace.create({ idempotencyKey: 'key' }),
    holds: [''],
    ends: true,
  },
  start: {
    prepare: async () => {
      await used();
      await workspace.stop();
      return () => workspace.start();
    },
    holds: ['written\n'],
  },
  'a start after it slept': {
    prepare: async () => {
      await used();
      await workspace.fallAsleep();
      return () => workspace.start();
    },
    holds: ['saved\n'],
  },
  stop: {
    prepare: async () => {
      await used();
      return () => workspace.stop();
    },
    holds: ['written\n'],
  },
  fork: {
    prepare: async () => {
      await used();
      forks = ['fork-1', 'fork-2'].map((fork) => world.workspace(`${workspace.name}-${fork}`));
      return () => workspace.fork({ newName: `${workspace.name}-fork`, count: 2, idempotencyKey: 'key' });
    },
    holds: ['written\n'],
  },
  update: {
    prepare: async () => {
      const currentSnapshotId = await used();
      return () => workspace.update({ currentSnapshotId });
    },
    holds: ['saved\n', 'written\n'],
  },
  delete: {
    prepare: async () => {
      await used();
      return () => workspace.delete();
    },
    holds: ['written\n'],
    ends: true,
  },
};

const ended = (options: object) => world.rpc('end', options).catch(() => {});
const DEATHS: Record<string, () => Promise<void>> = {
  'workerd is killed': () => world.crash(),
  'an object is ended': async () => {
    const [sandboxId] = await sandboxIds(workspace);
    const isIts = random() < 0.5 || sandboxId === undefined;
    await ended(isIts ? { name: workspace.name } : { sandboxId });
  },
};

for (const [death, die] of Object.entries(DEATHS)) {
  describe(`when ${death}`, () => {
    for (let time = 1; time <= TIMES; time += 1) {
      for (const [name, operation] of Object.entries(OPERATIONS)) {
        test(`during ${name}, time ${time}`, async (context) => {
          workspace = world.workspace(`agent-${++count}`);
          forks = [];
          left = { running: world.running(), objects: await world.objects() };
          const call = await operation.prepare();
          const point = drawPoint();
          context.diagnostic(point.name);
          const reached = point.reached();
          const answer = call().catch(() => undefined);
          await Promise.race([reached, answer]);
          onCall = undefined;
          await die();
          await answer;
          // Half of the time somebody comes before the alarm does.
          if (random() < 0.5) await recovered();
          await again(call);
          await recovered();
          await isWhole(operation);
          await isGone();
        });
      }
    }
  });
}

test('an alarm that dies while it stops a workspace comes again', async () => {
  workspace = world.workspace('expiring');
  forks = [];
  left = { running: world.running(), objects: await world.objects() };
  await used();
  await elapse(workspace, 601); // The file was changed, so it is not idle yet.
  await elapse(workspace, 590);
  onCall = () => {
    onCall = undefined;
    void ended({ name: workspace.name });
  };
  await elapse(workspace, 60).catch(() => {});
  onCall = undefined;
  await settled();
  await elapse(workspace, 1200);
  await recovered();
  assert.equal(await workspace.state(), 'stopped');
  await isWhole({ prepare: async () => async () => {}, holds: ['written\n'] });
  await isGone();
});

/** The same call is made again, until there is an answer. */
async function again(call: () => Promise<unknown>) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await call();
    } catch (error) {
      assert.ok(tries < 3, (error as Error).message);
    }
  }
}

/** Every sandbox that is known to somebody. */
const sandboxIds = (one: Named): Promise<string[]> => world.rpc('sandboxIds', { name: one.name });

/** What is known of a workspace, if there is one. */
const known = (one: Named) => one.describe().catch(() => undefined);

/** Lets enough time pass for everything that is followed up, at times with another death in the middle of it. */
async function recovered() {
  await settled();
  if (random() < 0.2) {
    const elapsing = elapse(workspace, 60).catch(() => {});
    await turns(Math.trunc(random() ** 2 * 3000));
    await world.crash();
    await elapsing;
  }
  for (const one of [workspace, ...forks]) {
    for (let times = 0; (await passing(one)).length > 0; times += 1) {
      assert.ok(times < 10, (await passing(one)).join('\n'));
      await settled();
      await elapse(one, 60);
      if (times > 3) await elapse(one, HOUR);
    }
  }
  await world.rpc('trueTime');
}

async function elapse(one: Named, seconds: number) {
  await world.rpc('elapse', { name: one.name, sandboxIds: await sandboxIds(one), seconds });
}

async function passing(one: Named): Promise<string[]> {
  return world.rpc('passing', { name: one.name, sandboxIds: await sandboxIds(one) });
}

/** Time that is put forward would be over before what takes its true time: backups, and the SDK's noticing of an end. */
async function settled() {
  await until(async () => (await world.underway()) === 0);
  const ids = (await Promise.all([workspace, ...forks].map(sandboxIds))).flat();
  for (const id of ids) {
    const hex = await world.hex(id);
    const isSettled = async () => {
      const { status } = await world.sandbox(id, 'getState');
      return status.startsWith('stop') || world.running().includes(hex);
    };
    await until(isSettled);
  }
}

/** No workspace is in a passing state, what runs is an active one's, and nothing is lost that was stopped. */
async function isWhole({ holds, ends }: Operation) {
  const active: string[] = [];
  for (const one of [workspace, ...forks]) {
    const described = await known(one);
    assert.ok(!PASSING.includes(described?.state ?? ''), described?.state);
    if (described?.state === 'active') active.push(await world.hex(described.sandboxId));
  }
  const allowed = [...active, ...left.running];
  for (const hex of world.running()) assert.ok(allowed.includes(hex), `${hex} runs, and is nobody's`);
  const described = await known(workspace);
  if (ends && described === undefined) return;
  await workspace.start();
  const content = await workspace.exec('cat file 2>/dev/null || true');
  assert.ok(holds.includes(content), `${content} is none of ${holds}`);
  if (content === 'saved\n' && holds.length > 1) {
    // It went back. What it had before is not lost.
    const [snapshot] = (await world.list(described!.formerSandboxIds.at(-1)!)).snapshots;
    await workspace.update({ currentSnapshotId: snapshot!.snapshotId });
    assert.equal(await workspace.exec('cat file'), 'written\n');
  }
  for (const fork of forks) {
    await fork.start();
    assert.equal(await fork.exec('cat file'), 'written\n');
  }
}

/** When all of it is deleted, nothing is left. */
async function isGone() {
  for (const one of [workspace, ...forks]) await one.delete();
  await recovered();
  assert.deepEqual(world.running(), left.running);
  const there = (await world.objects()).filter((key) => !left.objects.includes(key));
  // The SDK stores the archive first. One whose metadata it could not store any more is nobody's: it carries no mark.
  const marked = there.filter((key) => there.includes(key.replace('data.sqsh', 'meta.json')));
  assert.deepEqual(marked, []);
}

/** A point in an operation: so many calls into sandboxes after its begin, and then so many turns of the event loop. */
function drawPoint() {
  const calls = Math.trunc(random() * 14);
  const after = Math.trunc(random() ** 3 * 3000);
  return {
    name: `after ${calls} calls and ${after} turns`,
    reached: async () => {
      const enough = Promise.withResolvers<void>();
      let left = calls;
      onCall = () => (--left === 0 ? enough.resolve() : undefined);
      if (calls > 0) await enough.promise;
      await turns(after);
    },
  };
}

async function turns(count: number) {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Numbers from 0 to 1 that a seed determines (mulberry32). */
function generator(state: number): () => number {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
