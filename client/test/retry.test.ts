// Retries, idempotency keys and signals.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { SnapshotterClient, type Call, type Selection, type SnapshotRef } from '../src/index.ts';
import { unreachable } from '../src/failures.ts';
import { clientOver, failure, FakeTransport, never, rpcError } from './fakes.ts';

const busy = () => rpcError('SANDBOX_BUSY', 'transient', true);
const interrupted = () => rpcError('OPERATION_INTERRUPTED', 'transient', true);
const conflict = () => rpcError('SNAPSHOT_HAS_DEPENDENTS', 'conflict');
const unavailable = () => rpcError('WORKSPACE_UNAVAILABLE', 'conflict');
const lost = () => new Error('Network connection lost.');
const aborted = () => rpcError('ABORTED', 'transient', true);

/** Returns the number of attempts of a call whose first attempt fails with an error. */
async function attemptsOf(
  error: Error,
  call: (client: SnapshotterClient) => Promise<unknown>,
): Promise<number> {
  const transport = new FakeTransport(error, 'answer');
  await call(clientOver(transport).client).catch(() => undefined);
  return transport.calls.length;
}

describe('a call that failed', () => {
  const read = (client: SnapshotterClient) => client.list({ sandboxId: 'x' });
  const keyed = (client: SnapshotterClient) => client.restore({ sandboxId: 'x', label: 'y' });
  const once = (client: SnapshotterClient) => client.rotateKey({ sandboxId: 'x' });

  test('is retried after a transient error', async () => {
    for (const call of [read, keyed]) assert.equal(await attemptsOf(interrupted(), call), 2);
  });

  test('is retried after a lost answer, if a second call has no further effect', async () => {
    for (const error of [lost(), unavailable()]) {
      for (const call of [read, keyed]) assert.equal(await attemptsOf(error, call), 2);
      assert.equal(await attemptsOf(error, once), 1);
    }
  });

  test('is always retried if it had no effect', async () => {
    assert.equal(await attemptsOf(busy(), once), 2);
    assert.equal(await attemptsOf(interrupted(), once), 1);
  });

  test('is not retried after a permanent error', async () => {
    for (const call of [read, keyed, once]) assert.equal(await attemptsOf(conflict(), call), 1);
  });

  test('is not retried after an abort', async () => {
    assert.equal(await attemptsOf(aborted(), read), 1);
  });

  test('is not reported as unreachable if an earlier attempt may have taken effect', async () => {
    for (const [first, code] of [
      [lost(), 'ANSWER_LOST'],
      [unavailable(), 'WORKSPACE_UNAVAILABLE'],
      [busy(), 'SERVICE_UNREACHABLE'],
    ] as const) {
      const transport = new FakeTransport(first, unreachable('a'), unreachable('b'), unreachable('c'));
      const error = await failure(keyed(clientOver(transport).client));
      assert.equal(error.code, code);
      assert.match(error.detail, /The snapshotter could not be reached at c\.$/);
    }
  });

  test('is not retried if the caller disables retries', async () => {
    assert.equal(await attemptsOf(busy(), (client) => client.list({ sandboxId: 'x', retry: false })), 1);
    const transport = new FakeTransport(busy());
    const client = new SnapshotterClient(transport, { retry: false });
    assert.equal((await failure(client.list({ sandboxId: 'x' }))).code, 'SANDBOX_BUSY');
    assert.equal(transport.calls.length, 1);
  });
});

type MakeCall = (client: SnapshotterClient) => Promise<unknown>;

/** The calls on a snapshot that is selected by a label, a ref or an id. */
function onSnapshot(name: 'label' | 'ref' | 'id'): Record<string, MakeCall> {
  const ref = { providerId: 'cloudflare-sandbox' } as SnapshotRef;
  const selection = {
    label: { sandboxId: 'x', label: 'y' },
    ref: { ref },
    id: { sandboxId: 'x', snapshotId: 'snap' },
  }[name];
  return {
    [`label by ${name}`]: (client) => client.label({ ...selection, newLabel: 'z' }),
    [`pin by ${name}`]: (client) => client.pin(selection),
    [`unpin by ${name}`]: (client) => client.unpin(selection),
    [`delete by ${name}`]: (client) => client.delete(selection),
  };
}

/** A call of a tool. */
const tool =
  (name: string): MakeCall =>
  (client) =>
    client.tools.call({ workspaces: [{ name: 'n' }], name });

describe('a call that is not repeatable', () => {
  const CALLS: Record<string, MakeCall> = {
    rotateKey: (client) => client.rotateKey({ sandboxId: 'x' }),
    'tokens.create': (client) => client.tokens.create({ permissions: ['read'] }),
    exec: (client) => client.exec({ sandboxId: 'x', command: 'true' }),
    'commands.start': (client) => client.commands.start({ sandboxId: 'x', command: 'true' }),
    'workspaces.update with a snapshot': (client) =>
      client.workspaces.update({ name: 'n', currentSnapshotId: 'snap' }),
    'workspaces.delete': (client) => client.workspaces.delete({ name: 'n' }),
    'files.write': (client) => client.files.write({ sandboxId: 'x', path: 'a', content: 'b' }),
    'files.move': (client) => client.files.move({ sandboxId: 'x', path: 'a', to: 'b' }),
    'files.remove': (client) => client.files.remove({ sandboxId: 'x', path: 'a' }),
    'files.restore': (client) => client.files.restore({ sandboxId: 'x', label: 'y', paths: ['a'], to: 'x' }),
    'checkpoints.restore': (client) => client.checkpoints.restore({ sandboxId: 'x', name: 'n' }),
    'the tool that restores a checkpoint': tool('snapshot_restore'),
    'the tool that starts a command': tool('workspace__n__start_command'),
    'the tool that writes a file': tool('workspace_write_file'),
    'the tool that writes a file of one workspace': tool('workspace__n__write_file'),
    'the tool that restores a checkpoint of one workspace': tool('workspace__n__snapshot_restore'),
    ...onSnapshot('label'),
  };
  for (const [what, call] of Object.entries(CALLS)) {
    test(`is retried only if it had no effect: ${what}`, async () => {
      for (const error of [lost(), unavailable(), interrupted()])
        assert.equal(await attemptsOf(error, call), 1);
      assert.equal(await attemptsOf(busy(), call), 2);
    });
  }
});

describe('a repeatable call of these operations', () => {
  const CALLS: Record<string, MakeCall> = {
    'workspaces.update with settings': (client) => client.workspaces.update({ name: 'n', persistent: true }),
    'workspaces.start from a snapshot': (client) => client.workspaces.start({ name: 'n', from: 'snap' }),
    usage: (client) => client.usage({ name: 'n' }),
    'a tool that creates a workspace': tool('workspace__n__restore'),
    'a tool of a workspace with a name like another tool': tool('workspace__snapshot_restore__list'),
    ...onSnapshot('ref'),
    ...onSnapshot('id'),
  };
  for (const [what, call] of Object.entries(CALLS)) {
    test(`is retried: ${what}`, async () => {
      for (const error of [lost(), unavailable(), interrupted()])
        assert.equal(await attemptsOf(error, call), 2);
    });
  }

  test('treats options that are null as absent', async () => {
    const back = { name: 'n', currentSnapshotId: null } as unknown as { name: string };
    assert.equal(await attemptsOf(lost(), (client) => client.workspaces.update(back)), 2);
    const named = { sandboxId: 'x', snapshotId: null, label: 'y' } as unknown as Selection;
    assert.equal(await attemptsOf(lost(), (client) => client.delete(named)), 1);
  });
});

describe('the delays', () => {
  test('double from the base to the maximum, up to the last attempt', async () => {
    const transport = new FakeTransport(busy());
    const waits: number[] = [];
    const sleep = async (ms: number) => void waits.push(ms);
    const retry = { attempts: 5, baseMs: 10, maxMs: 30, random: () => 1, sleep };
    const client = new SnapshotterClient(transport, { retry });
    assert.equal((await failure(client.list({ sandboxId: 'x' }))).code, 'SANDBOX_BUSY');
    assert.deepEqual([transport.calls.length, waits], [5, [10, 20, 30, 30]]);
  });

  test('are a random fraction of that', async () => {
    const waits: number[] = [];
    const sleep = async (ms: number) => void waits.push(ms);
    const retry = { baseMs: 10, random: () => 0.25, sleep };
    await new SnapshotterClient(new FakeTransport(busy(), 'answer'), { retry }).list({ sandboxId: 'x' });
    assert.deepEqual(waits, [2.5]);
  });

  test('use timers by default', async () => {
    const client = new SnapshotterClient(new FakeTransport(busy(), 'answer'), { retry: { baseMs: 1 } });
    assert.equal(await client.list({ sandboxId: 'x' }), 'answer');
  });

  test('end when the signal fires', async () => {
    const controller = new AbortController();
    const transport = new FakeTransport(() => {
      queueMicrotask(() => controller.abort());
      throw busy();
    });
    const retry = { baseMs: 3_600_000, maxMs: 3_600_000, random: () => 1 };
    const client = new SnapshotterClient(transport, { retry });
    const { code } = await failure(client.list({ sandboxId: 'x', signal: controller.signal }));
    assert.deepEqual([code, transport.calls.length], ['ABORTED', 1]);
  });
});

describe('the idempotency key', () => {
  const KEYED: Record<string, (client: SnapshotterClient, key?: string) => Promise<unknown>> = {
    snapshot: (client, key) => client.snapshot({ sandboxId: 'x', ...given(key) }),
    restore: (client, key) => client.restore({ sandboxId: 'x', label: 'y', ...given(key) }),
    branch: (client, key) => client.branch({ sandboxId: 'x', label: 'y', ...given(key) }),
    revive: (client, key) => client.revive({ sandboxId: 'x', ...given(key) }),
    'workspaces/create': (client, key) => client.workspaces.create({ name: 'n', ...given(key) }),
    'workspaces/getOrCreate': (client, key) => client.workspaces.getOrCreate({ name: 'n', ...given(key) }),
    'workspaces/promote': (client, key) => client.workspaces.promote({ name: 'n', from: 'm', ...given(key) }),
    'workspaces/fork': (client, key) => client.workspaces.fork({ name: 'n', ...given(key) }),
    'tools/call': (client, key) =>
      client.tools.call({ workspaces: [{ name: 'n' }], name: 'workspace_restore', ...given(key) }),
  };
  const given = (idempotencyKey?: string) => (idempotencyKey === undefined ? {} : { idempotencyKey });
  const keys = ({ calls }: FakeTransport) => calls.map(({ options }: Call) => options.idempotencyKey);

  for (const [operation, call] of Object.entries(KEYED)) {
    test(`of ${operation} is generated, and is the same for each attempt`, async () => {
      const transport = new FakeTransport(lost(), interrupted(), 'answer');
      const { client } = clientOver(transport);
      await call(client);
      await call(client);
      assert.deepEqual(keys(transport), ['key-1', 'key-1', 'key-1', 'key-2']);
      assert.ok(transport.calls.every((call) => call.operation === operation && call.repeatable));
    });

    test(`of ${operation} can be set by the caller`, async () => {
      const transport = new FakeTransport(lost(), 'answer');
      await call(clientOver(transport).client, 'mine');
      assert.deepEqual(keys(transport), ['mine', 'mine']);
    });
  }

  test('is a UUID', async () => {
    const transport = new FakeTransport('answer');
    await new SnapshotterClient(transport).snapshot({ sandboxId: 'x' });
    assert.match(String(keys(transport)[0]), /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  });

  test('is not added to other calls', async () => {
    const transport = new FakeTransport('answer');
    const { client } = clientOver(transport);
    await client.pin({ sandboxId: 'x', label: 'y' });
    await tool('snapshot_restore')(client);
    assert.deepEqual(keys(transport), [undefined, undefined]);
  });
});

describe('a signal', () => {
  test('that has already fired prevents the call', async () => {
    const transport = new FakeTransport('answer');
    const signal = AbortSignal.abort('enough');
    const { code, cause } = await failure(clientOver(transport).client.list({ sandboxId: 'x', signal }));
    assert.deepEqual([code, cause, transport.calls], ['ABORTED', 'enough', []]);
  });

  test('that fires ends the wait at once, even if the transport ignores it', async () => {
    const controller = new AbortController();
    const transport = new FakeTransport(() => {
      queueMicrotask(() => controller.abort());
      return never();
    });
    const call = clientOver(transport).client.list({ sandboxId: 'x', signal: controller.signal });
    const { code, retryable, remediation } = await failure(call);
    assert.deepEqual([code, retryable], ['ABORTED', true]);
    assert.match(
      remediation,
      /^Repeat the call if you still need it\. .* ends a command, whose changes stay, if the signal reaches it: /,
    );
  });

  test('that does not fire has no listeners after the call', async () => {
    const listeners = new Set<unknown>();
    const { signal } = new AbortController();
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (type: string, listener: never) => {
      listeners.add(listener);
      addEventListener.call(signal, type, listener);
    };
    signal.removeEventListener = (type: string, listener: never) => {
      listeners.delete(listener);
      removeEventListener.call(signal, type, listener);
    };
    const transport = new FakeTransport(busy(), 'answer');
    await new SnapshotterClient(transport, { retry: { baseMs: 1 } }).list({ sandboxId: 'x', signal });
    assert.equal(listeners.size, 0);
  });
});
