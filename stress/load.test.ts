// Tests that a Worker under hundreds of concurrent callers stays correct, and refuses excess calls with a retryable error.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { http, SnapshotterClient } from '../client/src/index.ts';
import { TOKEN, until, World } from '../miniflare-tests/world.ts';
import { callers, startCalls, type Caller, type Outcome } from './load-callers.ts';

const CALLERS = 300;

/** The capacity of a queue, including the call that runs. */
const QUEUE = 32;

let world: World;
let many: Caller[];
/** The blocked method of the container. */
let gate:
  { method: string; reached: PromiseWithResolvers<void>; open: PromiseWithResolvers<void> } | undefined;

before(async () => {
  world = await World.start({
    snapshotter: { port: 0 },
    onCall: async ({ method }) => {
      if (method !== gate?.method) return;
      gate.reached.resolve();
      await gate.open.promise;
    },
  });
  many = await callers(world, CALLERS);
});
after(() => world[Symbol.asyncDispose]());

afterEach(() => {
  gate?.open.resolve();
  gate = undefined;
});

/** Blocks calls of a method of the container until `open` is called. */
function block(method: string) {
  gate = { method, reached: Promise.withResolvers(), open: Promise.withResolvers() };
  return { reached: gate.reached.promise, open: gate.open.resolve };
}

/** Asserts that every refusal is retryable, legible and without effect. Returns the answers of the other calls. */
function answersOf(outcomes: Outcome[]): any[] {
  for (const { refusal } of outcomes) {
    if (refusal === undefined) continue;
    const { code, kind, retryable, status, message, remediation, correlationId } = refusal;
    assert.deepEqual({ code, kind, retryable }, { code: 'SANDBOX_BUSY', kind: 'transient', retryable: true });
    assert.ok(status === undefined || status === 503, `${status}`);
    assert.match(message, /Nothing was changed/);
    assert.match(remediation, /Try again/);
    assert.match(correlationId, /^[0-9a-f]{16}$/);
  }
  return outcomes.filter(({ refusal }) => refusal === undefined).map(({ value }) => value);
}

const refusals = ({ answered }: { answered: Outcome[] }) =>
  answered.filter(({ refusal }) => refusal !== undefined).length;

describe('one sandbox', () => {
  test('shares one snapshot among equal calls', async () => {
    const sandboxId = 'shared';
    await world.exec(sandboxId, 'echo kept > file');
    const { reached, open } = block('backup.createArchive');
    const calls = startCalls(many, (call) => call('snapshot', { sandboxId }));
    await reached;
    open();
    const ids = new Set(answersOf(await calls.all).map(({ ref }) => ref.snapshotId));
    const { snapshots } = await world.list(sandboxId);
    assert.deepEqual(snapshots.map(({ snapshotId }) => snapshotId).sort(), [...ids].sort());
  });

  test('makes one sandbox for restores with one key', async () => {
    const sandboxId = 'restored';
    await world.exec(sandboxId, 'echo kept > file');
    const options = { ref: await world.snapshot(sandboxId), idempotencyKey: 'the same' };
    const running = world.running().length;
    const answers = answersOf(await startCalls(many, (call) => call('restore', options)).all);
    assert.equal(answers.length, CALLERS);
    const [id, ...others] = new Set(answers.map(({ ref }) => ref.sandboxId));
    assert.deepEqual(others, []);
    assert.equal(await world.exec(id, 'cat file'), 'kept\n');
    assert.equal(world.running().length, running + 1);
  });

  test('refuses checkpoints beyond the queue, and creates exactly the others', async () => {
    const sandboxId = 'checkpoints';
    await world.exec(sandboxId, 'echo kept > file');
    const { reached, open } = block('commands.execute');
    const calls = startCalls(many, (call, number) =>
      call('checkpoints/create', { sandboxId, name: `checkpoint-${number}` }),
    );
    await reached;
    await until(() => refusals(calls) === CALLERS - QUEUE);
    open();
    const created = answersOf(await calls.all).map(({ name }) => name);
    const { checkpoints } = await world.rpc('checkpoints/list', { sandboxId });
    assert.deepEqual(checkpoints.map(({ name }: { name: string }) => name).sort(), created.sort());
    assert.equal(created.length, QUEUE);
  });

  test('admits calls with large arguments within its memory budget', async () => {
    const sandboxId = 'large';
    await world.exec(sandboxId, 'echo kept > file');
    const { reached, open } = block('backup.createArchive');
    const excludes = Array.from({ length: 60 }, (_, number) => `${number}`.padStart(1000, 'x'));
    const calls = startCalls(many.slice(0, 150), (call) => call('snapshot', { sandboxId, excludes }));
    await reached;
    await until(() => refusals(calls) > 0);
    open();
    assert.ok(answersOf(await calls.all).length >= 100);
    await world.list(sandboxId);
  });
});

describe('one named workspace', () => {
  test('shares one start among all calls', async () => {
    const work = world.workspace('started');
    const { sandboxId } = await work.create();
    await world.exec(sandboxId, 'echo kept > file');
    await work.stop();
    const answers = answersOf(
      await startCalls(many, (call) => call('workspaces/start', { name: work.name })).all,
    );
    assert.equal(answers.length, CALLERS);
    assert.deepEqual([...new Set(answers.map((answer) => answer.sandboxId))], [sandboxId]);
    const { history } = await work.describe();
    assert.equal(history.filter(({ to }) => to === 'restoring').length, 1);
    assert.equal(await world.exec(sandboxId, 'cat file'), 'kept\n');
  });

  test('completes the calls of clients that retry after refusals', async () => {
    const work = world.workspace('updated');
    await work.create();
    const { reached, open } = block('backup.createArchive');
    const stopped = work.stop();
    await reached;
    let refused = 0;
    const sleep = async () => {
      refused += 1;
      await gate?.open.promise;
    };
    const transport = http({ url: (await world.url('/')).href, token: TOKEN });
    const client = new SnapshotterClient(transport, { retry: { attempts: Infinity, sleep } });
    const seconds = many.map((_, number) => 600 + number);
    const updates = seconds.map((idleSeconds) =>
      client.workspaces.update({ name: work.name, expiry: { idleSeconds } }),
    );
    await until(() => refused === CALLERS - (QUEUE - 1));
    open();
    assert.deepEqual(
      (await Promise.all(updates)).map(({ expiry }) => expiry.idleSeconds),
      seconds,
    );
    assert.equal((await stopped).state, 'stopped');
  });
});

test('many sandboxes do not wait for each other', async () => {
  const lists = answersOf(
    await startCalls(many, (call, number) => call('list', { sandboxId: `one-${number}` })).all,
  );
  assert.deepEqual(
    lists.map(({ snapshots }) => snapshots),
    many.map(() => []),
  );
});

test('calls that an overloaded object did not get are refused as retryable, and the client retries them', async () => {
  const main = fileURLToPath(new URL('./load-overloaded.mjs', import.meta.url));
  await using overloaded = await World.start({ snapshotter: { main, port: 0 } });
  await overloaded.exec('agent', 'echo kept > file');
  await overloaded.rpc('overload', { calls: 1 });
  const error = await overloaded.failure(overloaded.snapshot('agent'));
  assert.equal(error.code, 'SANDBOX_BUSY');
  assert.match(error.cause?.message ?? '', /Durable Object is overloaded/);
  await overloaded.rpc('overload', { calls: 3 });
  const client = new SnapshotterClient(http({ url: (await overloaded.url('/')).href, token: TOKEN }));
  const { capture } = await client.snapshot({ sandboxId: 'agent' });
  assert.equal(capture.shared, false);
  assert.equal((await overloaded.objects()).length, 2);
});
