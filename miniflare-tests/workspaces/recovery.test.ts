// Recovery of workspaces: workerd is killed, or the object of the workspace or of its sandbox is aborted, at random points of
// each operation. SEED=… selects the seed, and TIMES=… the number of runs.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { after, before, describe, test } from 'node:test';

import { until, World } from '../world.ts';
import type { NamedWorkspace } from './named.ts';

/** The number of runs of each fault during each operation. */
const TIMES = Number(process.env['TIMES'] ?? 1);

const HOUR = 3600;
const TRANSIENT_STATES = ['provisioning', 'stopping', 'restoring'];

const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
console.log(`SEED=${seed}`);
const random = generator(seed);

let persist: string;
let world: World;
let onCall: (() => void) | undefined;
let count = 0;

/** The workspace under test, and its forks. */
let workspace: NamedWorkspace;
let forks: NamedWorkspace[];

/** The running sandboxes and the objects before the test. */
let initial: { running: string[]; objects: string[] };

before(async () => {
  persist = await mkdtemp(join(tmpdir(), 'world-'));
  const main = fileURLToPath(new URL('../caller/active-backups.ts', import.meta.url));
  world = await World.start({ clock: true, persist, caller: { main }, onCall: () => onCall?.() });
});
after(async () => {
  await world[Symbol.asyncDispose]();
  await rm(persist, { recursive: true });
});

/** Creates a running workspace whose file differs from that in its snapshot. */
async function createUsed() {
  await workspace.create();
  await workspace.exec('echo saved > file');
  const { ref } = await world.snapshot(await workspace.sandboxId());
  await workspace.exec('echo written > file');
  return ref.snapshotId;
}

/** An operation to interrupt: its preparation, which returns the call, and the permitted contents of the file after it. */
interface Operation {
  prepare: () => Promise<() => Promise<unknown>>;
  contents: string[];
  /** Whether the workspace may not exist afterwards. */
  mayBeGone?: boolean;
}

const OPERATIONS: Record<string, Operation> = {
  create: {
    prepare: async () => () => workspace.create({ idempotencyKey: 'key' }),
    contents: [''],
    mayBeGone: true,
  },
  start: {
    prepare: async () => {
      await createUsed();
      await workspace.stop();
      return () => workspace.start();
    },
    contents: ['written\n'],
  },
  'a start after its container ended': {
    prepare: async () => {
      await createUsed();
      await workspace.endContainer();
      return () => workspace.start();
    },
    contents: ['saved\n'],
  },
  stop: {
    prepare: async () => {
      await createUsed();
      return () => workspace.stop();
    },
    contents: ['written\n'],
  },
  fork: {
    prepare: async () => {
      await createUsed();
      forks = ['fork-1', 'fork-2'].map((fork) => world.workspace(`${workspace.name}-${fork}`));
      return () => workspace.fork({ newName: `${workspace.name}-fork`, count: 2, idempotencyKey: 'key' });
    },
    contents: ['written\n'],
  },
  update: {
    prepare: async () => {
      const currentSnapshotId = await createUsed();
      return () => workspace.update({ currentSnapshotId });
    },
    contents: ['saved\n', 'written\n'],
  },
  delete: {
    prepare: async () => {
      await createUsed();
      return () => workspace.delete();
    },
    contents: ['written\n'],
    mayBeGone: true,
  },
};

const abortObject = (options: object) => world.rpc('abortObject', options).catch(() => {});
const FAULTS: Record<string, () => Promise<void>> = {
  'workerd is killed': () => world.crash(),
  'an object is aborted': async () => {
    const [sandboxId] = await sandboxIds(workspace);
    const isWorkspace = random() < 0.5 || sandboxId === undefined;
    await abortObject(isWorkspace ? { name: workspace.name } : { sandboxId });
  },
};

for (const [fault, inject] of Object.entries(FAULTS)) {
  describe(`a workspace recovers after ${fault}`, () => {
    for (let run = 1; run <= TIMES; run += 1) {
      for (const [name, operation] of Object.entries(OPERATIONS)) {
        test(`during ${name}, run ${run}`, async (context) => {
          workspace = world.workspace(`agent-${++count}`);
          forks = [];
          initial = { running: world.running(), objects: await world.objects() };
          const call = await operation.prepare();
          const point = drawPoint();
          context.diagnostic(point.name);
          const reached = point.reached();
          const answer = call().catch(() => undefined);
          await Promise.race([reached, answer]);
          onCall = undefined;
          await inject();
          await answer;
          // In half of the runs, the repeated call comes before the alarm.
          if (random() < 0.5) await recover();
          await repeat(call);
          await recover();
          await assertWhole(operation);
          await assertNothingLeft();
        });
      }
    }
  });
}

test('an alarm that is interrupted while it stops a workspace runs again', async () => {
  workspace = world.workspace('expiring');
  forks = [];
  initial = { running: world.running(), objects: await world.objects() };
  await createUsed();
  await advanceClock(workspace, 601); // The file changed, so the workspace is not idle yet.
  await advanceClock(workspace, 590);
  onCall = () => {
    onCall = undefined;
    void abortObject({ name: workspace.name });
  };
  await advanceClock(workspace, 60).catch(() => {});
  onCall = undefined;
  await waitUntilIdle();
  await advanceClock(workspace, 1200);
  await recover();
  assert.equal(await workspace.state(), 'stopped');
  await assertWhole({ prepare: async () => async () => {}, contents: ['written\n'] });
  await assertNothingLeft();
});

/** Repeats a call until it succeeds, up to three times. */
async function repeat(call: () => Promise<unknown>) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await call();
    } catch (error) {
      assert.ok(tries < 3, (error as Error).message);
    }
  }
}

/** Returns every sandbox in the record of a workspace. */
const sandboxIds = (one: NamedWorkspace): Promise<string[]> => world.rpc('sandboxIds', { name: one.name });

/** Returns the description of a workspace, if it exists. */
const describeIfExists = (one: NamedWorkspace) => one.describe().catch(() => undefined);

/** Advances the clock until everything is reconciled, in some runs with another crash in between. */
async function recover() {
  await waitUntilIdle();
  if (random() < 0.2) {
    const advancing = advanceClock(workspace, 60).catch(() => {});
    await runTurns(Math.trunc(random() ** 2 * 3000));
    await world.crash();
    await advancing;
  }
  for (const one of [workspace, ...forks]) {
    for (let times = 0; (await transientRows(one)).length > 0; times += 1) {
      assert.ok(times < 10, (await transientRows(one)).join('\n'));
      await waitUntilIdle();
      await advanceClock(one, 60);
      if (times > 3) await advanceClock(one, HOUR);
    }
  }
  await world.rpc('resetClock');
}

async function advanceClock(one: NamedWorkspace, seconds: number) {
  await world.rpc('advanceClock', { name: one.name, sandboxIds: await sandboxIds(one), seconds });
}

async function transientRows(one: NamedWorkspace): Promise<string[]> {
  return world.rpc('transientRows', { name: one.name, sandboxIds: await sandboxIds(one) });
}

/** Waits for backups in progress and for the SDK to notice the end of containers, which follow the real time. */
async function waitUntilIdle() {
  await until(async () => (await world.activeBackups()) === 0);
  const ids = (await Promise.all([workspace, ...forks].map(sandboxIds))).flat();
  for (const id of ids) {
    const objectId = await world.objectId(id);
    const isSettled = async () => {
      const { status } = await world.sandbox(id, 'getState');
      return status.startsWith('stop') || world.running().includes(objectId);
    };
    await until(isSettled);
  }
}

/** Asserts that no workspace is in a transient state, only sandboxes of active workspaces run, and no saved file is lost. */
async function assertWhole({ contents, mayBeGone }: Operation) {
  const active: string[] = [];
  for (const one of [workspace, ...forks]) {
    const described = await describeIfExists(one);
    assert.ok(!TRANSIENT_STATES.includes(described?.state ?? ''), described?.state);
    if (described?.state === 'active') active.push(await world.objectId(described.sandboxId));
  }
  const allowed = [...active, ...initial.running];
  for (const objectId of world.running())
    assert.ok(allowed.includes(objectId), `${objectId} runs without an active workspace`);
  const described = await describeIfExists(workspace);
  if (mayBeGone && described === undefined) return;
  await workspace.start();
  const content = await workspace.exec('cat file 2>/dev/null || true');
  assert.ok(contents.includes(content), `${content} is none of ${contents}`);
  if (content === 'saved\n' && contents.length > 1) {
    // The rollback took effect. The files before it are in a snapshot.
    const [snapshot] = (await world.list(described!.formerSandboxIds.at(-1)!)).snapshots;
    await workspace.update({ currentSnapshotId: snapshot!.snapshotId });
    assert.equal(await workspace.exec('cat file'), 'written\n');
  }
  for (const fork of forks) {
    await fork.start();
    assert.equal(await fork.exec('cat file'), 'written\n');
  }
}

/** Deletes the workspaces, and asserts that no sandbox and no object remains. */
async function assertNothingLeft() {
  for (const one of [workspace, ...forks]) await one.delete();
  await recover();
  assert.deepEqual(world.running(), initial.running);
  const remaining = (await world.objects()).filter((key) => !initial.objects.includes(key));
  // The SDK stores the archive first. An archive without metadata has no owner, and is not the snapshotter's.
  const owned = remaining.filter((key) => remaining.includes(key.replace('data.sqsh', 'meta.json')));
  assert.deepEqual(owned, []);
}

/** Draws a point in an operation: a number of calls to sandboxes after its start, and then of turns of the event loop. */
function drawPoint() {
  const calls = Math.trunc(random() * 14);
  const after = Math.trunc(random() ** 3 * 3000);
  return {
    name: `after ${calls} calls and ${after} turns`,
    reached: async () => {
      const lastCall = Promise.withResolvers<void>();
      let left = calls;
      onCall = () => (--left === 0 ? lastCall.resolve() : undefined);
      if (calls > 0) await lastCall.promise;
      await runTurns(after);
    },
  };
}

async function runTurns(count: number) {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Returns a generator of pseudorandom numbers from 0 to 1 (mulberry32). */
function generator(state: number): () => number {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
