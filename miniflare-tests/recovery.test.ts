// Workers that die: workerd killed, or the object of a workspace ended, at points that are drawn anew each time. What is
// left is put in order by the alarm, or by the next call. SEED=… repeats the draws.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { after, afterEach, before, describe, test } from 'node:test';

import { until, World } from './world.ts';
import type { SnapshotRef, Sweep, WorkspaceRef } from '../client/src/index.ts';

/** How often workerd is killed during each operation, and how often the object is ended. */
const KILLS = 10;
const ENDS = 5;

const HOUR = 3600;

const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
console.log(`SEED=${seed}`);
const random = generator(seed);

let persist: string;
let world: World;
let onCall: ((call: { method: string }) => void) | undefined;

/** What somebody got, and has not given back. */
const snapshots = new Map<string, { ref: SnapshotRef; content: string }>();
const sandboxes = new Map<string, string>();
let count = 0;

before(async () => {
  persist = await mkdtemp(join(tmpdir(), 'world-'));
  const main = fileURLToPath(new URL('./caller/underway.ts', import.meta.url));
  world = await World.start({ clock: true, persist, caller: { main }, onCall: (call) => onCall?.(call) });
  await world.exec('agent', 'echo 0 > file');
});
after(async () => {
  await world[Symbol.asyncDispose]();
  await rm(persist, { recursive: true });
});

/** Every round ends with these. */
afterEach(async () => {
  await recovered();
  const { snapshots: rows } = await world.list('agent', { limit: 100 });
  assert.deepEqual(
    rows.map(({ snapshotId }) => snapshotId).sort(),
    [...snapshots.keys()].sort(),
    'there is what somebody got',
  );
  assert.ok(rows.every(({ state, restorable }) => state === 'ready' && restorable === 'yes'));
  const objects = [...snapshots.values()].flatMap(({ ref: { ref } }) =>
    ['data.sqsh', 'meta.json'].map((name) => `backups/${ref.backup.id}/${name}`),
  );
  const there = await world.objects();
  // The SDK stores the archive first. One whose metadata it could not store any more is nobody's: it carries no mark.
  const marked = there.filter((key) => there.includes(key.replace('data.sqsh', 'meta.json')));
  assert.deepEqual(marked, objects.sort(), 'R2 has what the ledger lists');
  const swept: Sweep = await world.rpc('sweep', { graceSeconds: 0, dryRun: true });
  assert.deepEqual([swept.deleted, swept.failed], [0, 0]);
  const known = await Promise.all(['agent', ...sandboxes.keys()].map((id) => world.hex(id)));
  assert.deepEqual(world.running(), known.sort(), 'what runs is somebody’s, and what is somebody’s runs');
});

/** Somebody's call that is cut off, and is made again with its key until there is an answer. */
interface Attempt {
  prepare?: () => Promise<void>;
  call: () => Promise<any>;
  got: (answer: any) => void;
}

const OPERATIONS: Record<string, () => Attempt> = {
  snapshot: () => {
    const content = `${++count}\n`;
    const options = { idempotencyKey: `snapshot ${count}` };
    return {
      prepare: async () => void (await world.exec('agent', `echo ${count} > file`)),
      call: () => world.snapshot('agent', options),
      got: (ref: SnapshotRef) => void snapshots.set(ref.ref.snapshotId, { ref, content }),
    };
  },
  restore: () => {
    const { ref, content } = drawn([...snapshots.values()]);
    const options = { ref, idempotencyKey: `restore ${++count}` };
    return {
      call: () => world.rpc('restore', options),
      got: ({ ref }: WorkspaceRef) => void sandboxes.set(ref.sandboxId, content),
    };
  },
  delete: () => {
    const { ref } = drawn([...snapshots.values()]);
    return {
      call: () => world.rpc('delete', { ref, force: true }),
      got: () => void snapshots.delete(ref.ref.snapshotId),
    };
  },
};

const DEATHS: Record<string, { times: number; die: () => Promise<void> }> = {
  'workerd is killed': { times: KILLS, die: () => world.crash() },
  'the object is ended': {
    times: ENDS,
    die: () => world.rpc('end', { sandboxId: 'agent' }).catch(() => {}),
  },
};

for (const [death, { times, die }] of Object.entries(DEATHS)) {
  describe(`when ${death}`, () => {
    for (let time = 1; time <= times; time += 1) {
      for (const [method, attempt] of Object.entries(OPERATIONS)) {
        test(`during a ${method}, time ${time}`, async (context) => {
          while (snapshots.size < 2) await undisturbed(OPERATIONS['snapshot']!());
          const { prepare, call, got } = attempt();
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
          await die();
          const answered = await outcome;
          if (random() < 0.5) await recovered();
          const again = await call();
          if (answered && method !== 'delete') assert.deepEqual(again, answered.answer);
          got(again);
        });
      }
    }
  });
}

test('an alarm that dies comes again', async () => {
  onCall = ({ method }) => {
    if (method === 'backup.createArchive') void world.rpc('end', { sandboxId: 'agent' }).catch(() => {});
  };
  await world.failure(world.snapshot('agent'));
  onCall = undefined;
  await until(async () => (await world.underway()) === 0);
  assert.equal((await passing()).length, 1);
  await world.failure(world.rpc('endInAlarm', { sandboxId: 'agent' }));
});

describe('in the end', () => {
  test('every snapshot that somebody got has its content', async () => {
    for (const { ref, content } of snapshots.values()) await world.restores(ref, 'cat file', content);
  });

  test('every sandbox that somebody got has the content of its snapshot', async () => {
    for (const [id, content] of sandboxes) assert.equal(await world.exec(id, 'cat file'), content);
  });
});

async function undisturbed({ prepare, call, got }: Attempt) {
  await prepare?.();
  got(await call());
}

/** Lets enough time pass for everything that is followed up, at times with another death in the middle of it. */
async function recovered() {
  await settled();
  if (random() < 0.2) {
    const elapsing = world.elapse('agent', 3 * HOUR).catch(() => {});
    await turns(Math.trunc(random() ** 2 * 3000));
    await world.crash();
    await elapsing;
  }
  for (let times = 0; (await passing()).length > 0; times += 1) {
    assert.ok(times < 10, (await passing()).join('\n'));
    await settled();
    await world.elapse('agent', 3 * HOUR);
  }
  await world.rpc('trueTime');
}

const passing = (): Promise<string[]> => world.rpc('passing', { sandboxId: 'agent' });

/** Time that is put forward would be over before what takes its true time: backups, and the SDK's noticing of an end. */
async function settled() {
  await until(async () => (await world.underway()) === 0);
  for (const row of await passing()) {
    const [id] = /agent-restored-[a-z0-9]{8}/.exec(row) ?? [];
    if (id === undefined) continue;
    const hex = await world.hex(id);
    await until(async () => {
      const { status } = await world.sandbox(id, 'getState');
      return status.startsWith('stop') || world.running().includes(hex);
    });
  }
}

/** A point in an operation: so many calls into sandboxes after its begin, and then so many turns of the event loop. */
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

function drawn<T>(values: T[]): T {
  return values[Math.trunc(random() * values.length)]!;
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
