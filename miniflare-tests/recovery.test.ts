// Recovery: workerd is killed or a Workspace object is aborted at random points of an operation. The alarm or the next
// call recovers. SEED=… repeats the random choices.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { after, afterEach, before, describe, test } from 'node:test';

import { isArchiving, until, World } from './world.ts';
import type { SnapshotRef, Sweep, WorkspaceRef } from '../client/src/index.ts';

/** How often workerd is killed during each operation, and how often the Workspace object is aborted. */
const KILLS = 10;
const ABORTS = 5;

const HOUR = 3600;

const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
console.log(`SEED=${seed}`);
const random = generator(seed);

let persist: string;
let world: World;
let onCall: ((call: { method: string }) => void) | undefined;

/** The returned snapshots that were not deleted, and the returned sandboxes with their contents. */
const snapshots = new Map<string, { ref: SnapshotRef; content: string }>();
const sandboxes = new Map<string, string>();
let count = 0;

before(async () => {
  persist = await mkdtemp(join(tmpdir(), 'world-'));
  const main = fileURLToPath(new URL('./caller/active-backups.ts', import.meta.url));
  world = await World.start({ clock: true, persist, caller: { main }, onCall: (call) => onCall?.(call) });
  await world.exec('agent', 'echo 0 > file');
});
after(async () => {
  await world[Symbol.asyncDispose]();
  await rm(persist, { recursive: true });
});

/** Checks the invariants after every test. */
afterEach(async () => {
  await recover();
  const { snapshots: rows } = await world.list('agent', { limit: 100 });
  assert.deepEqual(
    rows.map(({ snapshotId }) => snapshotId).sort(),
    [...snapshots.keys()].sort(),
    'the ledger lists exactly the returned snapshots',
  );
  assert.ok(rows.every(({ state, restorable }) => state === 'ready' && restorable === 'yes'));
  const objects = [...snapshots.values()].flatMap(({ ref: { ref } }) =>
    ['data.sqsh', 'meta.json'].map((name) => `backups/${ref.backup.id}/${name}`),
  );
  const objectKeys = await world.objects();
  // The SDK stores the archive first. An archive without metadata has no mark, and belongs to no snapshot.
  const marked = objectKeys.filter((key) => objectKeys.includes(key.replace('data.sqsh', 'meta.json')));
  assert.deepEqual(marked, objects.sort(), 'R2 has exactly the objects that the ledger lists');
  const swept: Sweep = await world.rpc('sweep', { graceSeconds: 0, dryRun: true });
  assert.deepEqual([swept.deleted, swept.failed], [0, 0]);
  const expectedIds = await Promise.all(['agent', ...sandboxes.keys()].map((id) => world.objectId(id)));
  assert.deepEqual(world.running(), expectedIds.sort(), 'exactly the returned sandboxes run');
});

/** A call that is interrupted, and repeated with its key. */
interface Attempt {
  prepare?: () => Promise<void>;
  call: () => Promise<any>;
  onAnswer: (answer: any) => void;
}

const OPERATIONS: Record<string, () => Attempt> = {
  snapshot: () => {
    const content = `${++count}\n`;
    const options = { idempotencyKey: `snapshot ${count}` };
    return {
      prepare: async () => void (await world.exec('agent', `echo ${count} > file`)),
      call: () => world.snapshot('agent', options),
      onAnswer: (ref: SnapshotRef) => void snapshots.set(ref.ref.snapshotId, { ref, content }),
    };
  },
  restore: () => {
    const { ref, content } = pick([...snapshots.values()]);
    const options = { ref, idempotencyKey: `restore ${++count}` };
    return {
      call: () => world.rpc('restore', options),
      onAnswer: ({ ref }: WorkspaceRef) => void sandboxes.set(ref.sandboxId, content),
    };
  },
  delete: () => {
    const { ref } = pick([...snapshots.values()]);
    return {
      call: () => world.rpc('delete', { ref, force: true }),
      onAnswer: () => void snapshots.delete(ref.ref.snapshotId),
    };
  },
};

const FAULTS: Record<string, { times: number; inject: () => Promise<void> }> = {
  'workerd is killed': { times: KILLS, inject: () => world.crash() },
  'the Workspace object is aborted': {
    times: ABORTS,
    inject: () => world.rpc('abortObject', { sandboxId: 'agent' }).catch(() => {}),
  },
};

for (const [fault, { times, inject }] of Object.entries(FAULTS)) {
  describe(`if ${fault},`, () => {
    for (let time = 1; time <= times; time += 1) {
      for (const [method, attempt] of Object.entries(OPERATIONS)) {
        test(`an interrupted ${method} can be repeated (run ${time})`, async (context) => {
          while (snapshots.size < 2) await runUninterrupted(OPERATIONS['snapshot']!());
          const { prepare, call, onAnswer } = attempt();
          await prepare?.();
          const point = drawPoint(method);
          context.diagnostic(point.name);
          const reached = point.reached();
          const outcome = call().then(
            (answer) => ({ answer }),
            () => undefined,
          );
          await Promise.race([reached, outcome]);
          onCall = undefined;
          await inject();
          const answered = await outcome;
          if (random() < 0.5) await recover();
          const again = await call();
          if (answered && method !== 'delete') assert.deepEqual(again, answered.answer);
          onAnswer(again);
        });
      }
    }
  });
}

test('an interrupted alarm is retried', async () => {
  onCall = (call) => {
    if (isArchiving(call)) void world.rpc('abortObject', { sandboxId: 'agent' }).catch(() => {});
  };
  await world.failure(world.snapshot('agent'));
  onCall = undefined;
  await until(async () => (await world.activeBackups()) === 0);
  assert.equal((await transientRows()).length, 1);
  await world.failure(world.rpc('abortObjectInAlarm', { sandboxId: 'agent' }));
});

describe('at the end,', () => {
  test('every returned snapshot has its content', async () => {
    for (const { ref, content } of snapshots.values()) await world.assertRestores(ref, 'cat file', content);
  });

  test('every returned sandbox has the content of its snapshot', async () => {
    for (const [id, content] of sandboxes) assert.equal(await world.exec(id, 'cat file'), content);
  });
});

async function runUninterrupted({ prepare, call, onAnswer }: Attempt) {
  await prepare?.();
  onAnswer(await call());
}

/** Advances the clock until every task has run. In one run of five, workerd is killed during that. */
async function recover() {
  await waitUntilIdle();
  if (random() < 0.2) {
    const advance = world.advanceClock('agent', 3 * HOUR).catch(() => {});
    await turns(Math.trunc(random() ** 2 * 3000));
    await world.crash();
    await advance;
  }
  for (let times = 0; (await transientRows()).length > 0; times += 1) {
    assert.ok(times < 10, (await transientRows()).join('\n'));
    await waitUntilIdle();
    await world.advanceClock('agent', 3 * HOUR);
  }
  await world.rpc('resetClock');
}

const transientRows = (): Promise<string[]> => world.rpc('transientRows', { sandboxId: 'agent' });

/** Waits for work that takes real time, which the clock must not overtake: backups, and the SDK's handling of an ended container. */
async function waitUntilIdle() {
  await until(async () => (await world.activeBackups()) === 0);
  for (const row of await transientRows()) {
    const [id] = /agent-restored-[a-z0-9]{8}/.exec(row) ?? [];
    if (id === undefined) continue;
    const hex = await world.objectId(id);
    await until(async () => {
      const { status } = await world.sandbox(id, 'getState');
      return status.startsWith('stop') || world.running().includes(hex);
    });
  }
}

/** Picks a point in an operation: a number of calls to sandboxes after its start, and then of turns of the event loop. */
function drawPoint(method: string) {
  const calls = method === 'delete' ? 0 : Math.trunc(random() * 14);
  const after = Math.trunc(random() ** 3 * (calls === 0 ? 12_000 : 3000));
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

function pick<T>(values: T[]): T {
  return values[Math.trunc(random() * values.length)]!;
}

/** Creates a generator of numbers from 0 to 1 with a seed (mulberry32). */
function generator(state: number): () => number {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
