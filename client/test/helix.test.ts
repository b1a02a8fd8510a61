// The `Snapshotter` of Helix Agents.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { CloudflareSandboxSnapshotter, type Snapshotter, type Subject } from '../src/helix.ts';
import { clientOver, failure, FakeTransport, rpcError } from './fakes.ts';
import type { Call } from '../src/index.ts';

const REF = { providerId: 'cloudflare-sandbox', ref: { snapshotId: 'snap-1' } };
const WORKSPACE = {
  providerId: 'cloudflare-sandbox',
  ref: { sandboxId: 'agent-42-restored-k3f9x2ab', rootId: 'agent-42' },
  capabilities: { fs: true, shell: true, code: true, snapshot: true },
  schemaVersion: 1,
};
const SANDBOX = { sandboxId: 'agent-42' };

/** Creates a snapshotter with a fake transport, which answers by operation. */
function over(answers: Record<string, unknown>, subject: Subject = SANDBOX) {
  const transport = new FakeTransport(({ operation, options }: Call) => {
    const answer = answers[operation];
    if (answer instanceof Error) throw answer;
    return typeof answer === 'function' ? answer(options) : answer;
  });
  const { client } = clientOver(transport, { newKey: () => 'key' });
  return { transport, snapshotter: new CloudflareSandboxSnapshotter(client, subject) };
}

describe('a snapshot', () => {
  const capture = {
    label: 'x',
    sizeBytes: 1,
    beganAt: 'now',
    shared: false,
    form: 'full' as const,
    storedBytes: 1,
    totalBytes: 1,
  };

  test('is a ref without further fields', async () => {
    const { snapshotter, transport } = over({ snapshot: { ...REF, capture } });
    assert.deepEqual(await snapshotter.snapshot(), REF);
    assert.deepEqual(transport.sent, [['snapshot', { sandboxId: 'agent-42', idempotencyKey: 'key' }]]);
  });

  test('captures the given directory', async () => {
    const { snapshotter, transport } = over({ snapshot: REF }, { ...SANDBOX, dir: '/app' });
    await snapshotter.snapshot();
    assert.equal(transport.calls[0]?.options.dir, '/app');
  });
});

describe('restore and branch', () => {
  for (const operation of ['restore', 'branch'] as const) {
    test(`${operation} returns a workspace ref without further fields, within the lineage scope`, async () => {
      const { snapshotter, transport } = over({ [operation]: { ...WORKSPACE, later: 'field' } });
      assert.deepEqual(await snapshotter[operation](REF), WORKSPACE);
      const options = { ref: REF, lineageScope: 'agent-42', allowCrossLineage: false, idempotencyKey: 'key' };
      assert.deepEqual(transport.sent, [[operation, options]]);
    });

    test(`${operation} passes allowCrossLineage`, async () => {
      const { snapshotter, transport } = over({ [operation]: WORKSPACE });
      await snapshotter[operation](REF, { allowCrossLineage: true });
      assert.equal(transport.calls[0]?.options.allowCrossLineage, true);
    });
  }

  test('the ref is passed unchanged, so that the snapshotter refuses unknown fields', async () => {
    const { snapshotter, transport } = over({ restore: WORKSPACE });
    const extended = { ...REF, extra: true };
    await snapshotter.restore(extended);
    assert.deepEqual(transport.calls[0]?.options.ref, extended);
  });
});

test('delete deletes a snapshot within the lineage scope', async () => {
  const { snapshotter, transport } = over({ delete: { snapshotId: 'snap-1', removed: true } });
  assert.equal(await snapshotter.delete(REF), undefined);
  assert.deepEqual(transport.sent, [
    ['delete', { ref: REF, lineageScope: 'agent-42', allowCrossLineage: false }],
  ]);
});

describe('the list', () => {
  const row = (number: number, restorable = 'yes') => ({ restorable, ref: { ...REF, ref: { number } } });
  const pages = ({ cursor }: { cursor?: string }) =>
    cursor === undefined
      ? { snapshots: [row(1), { restorable: 'no' }, row(2, 'no')], cursor: 'next' }
      : { snapshots: [row(3, 'unknown'), row(4)] };
  const numbers = (refs: { ref: unknown }[]) => refs.map(({ ref }) => (ref as { number: number }).number);

  test('contains refs that may be restorable, from all pages', async () => {
    const { snapshotter, transport } = over({ list: pages });
    const refs = await snapshotter.list();
    assert.deepEqual(numbers(refs), [1, 3, 4]);
    assert.deepEqual(Object.keys(refs[0] ?? {}), ['providerId', 'ref']);
    assert.deepEqual(transport.calls[0]?.options, {
      sandboxId: 'agent-42',
      lineageScope: 'agent-42',
      allowCrossLineage: false,
    });
  });

  test('ends at the limit, and requests no further page', async () => {
    const { snapshotter, transport } = over({ list: pages });
    assert.deepEqual(numbers(await snapshotter.list({ limit: 1 })), [1]);
    assert.equal(transport.calls.length, 1);
    assert.deepEqual(await snapshotter.list({ limit: 0 }), []);
  });
});

describe('with a named workspace', () => {
  const workspace = { sandboxId: 'second', formerSandboxIds: ['first'], dir: '/app' };
  const subject = { workspace: 'notebook', tenant: 'acme' };

  test('snapshot captures the present sandbox', async () => {
    const { snapshotter, transport } = over({ 'workspaces/getByName': workspace, snapshot: REF }, subject);
    await snapshotter.snapshot();
    assert.deepEqual(transport.sent, [
      ['workspaces/getByName', { name: 'notebook', tenant: 'acme' }],
      ['snapshot', { sandboxId: 'second', dir: '/app', idempotencyKey: 'key' }],
    ]);
  });

  test('list continues with the former sandboxes', async () => {
    const list = ({ sandboxId }: { sandboxId: string }) => ({
      snapshots: [{ restorable: 'yes', ref: { ...REF, ref: sandboxId } }],
    });
    const { snapshotter } = over({ 'workspaces/getByName': workspace, list }, subject);
    assert.deepEqual(
      (await snapshotter.list()).map(({ ref }) => ref),
      ['second', 'first'],
    );
  });

  test('ready fails if the workspace does not exist', async () => {
    const missing = rpcError('WORKSPACE_NOT_FOUND', 'not_found');
    const { snapshotter } = over({ 'tools/list': { tools: [] }, 'workspaces/getByName': missing }, subject);
    assert.equal((await failure(snapshotter.ready())).code, 'WORKSPACE_NOT_FOUND');
  });
});

describe('ready', () => {
  test('fails if the deployment cannot take snapshots', async () => {
    const { snapshotter } = over({ 'tools/list': rpcError('R2_BINDING_MISSING', 'permanent') });
    assert.equal((await failure(snapshotter.ready())).code, 'R2_BINDING_MISSING');
  });

  test('only lists tools if the deployment can take snapshots', async () => {
    const { snapshotter, transport } = over({ 'tools/list': { tools: [] } });
    await snapshotter.ready();
    assert.deepEqual(
      transport.calls.map(({ operation }) => operation),
      ['tools/list'],
    );
  });
});

test('no call is sent if the signal has already fired', async () => {
  const { snapshotter, transport } = over({});
  const options = { signal: AbortSignal.abort() };
  const calls = [
    snapshotter.ready(options),
    snapshotter.snapshot(options),
    snapshotter.restore(REF, options),
    snapshotter.branch(REF, options),
    snapshotter.list(options),
    snapshotter.delete(REF, options),
  ];
  for (const call of calls) assert.equal((await failure(call)).code, 'ABORTED');
  assert.deepEqual(transport.calls, []);
});

test('the method branch can be withheld, so that the framework offers no tool for it', () => {
  const { client } = clientOver(new FakeTransport(() => REF));
  const withheld: Snapshotter = new CloudflareSandboxSnapshotter(client, SANDBOX, { branch: false });
  const offered: Snapshotter = new CloudflareSandboxSnapshotter(client, SANDBOX);
  assert.equal(withheld.branch, undefined);
  assert.equal(typeof offered.branch, 'function');
});
