// Tools as an application offers them to a model: which there are, and what calling one comes to.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { World } from '../world.ts';

let world: World;
before(async () => {
  world = await World.start();
});
after(() => world[Symbol.asyncDispose]());

/** Tools of one sandbox, declared as `work`. */
const of = (sandboxId: string) => ({ workspaces: [{ name: 'work', snapshot: true, sandboxId }] });

/** What a model reads of a result. */
const text = ({ content }: { content: { text: string }[] }) => content.map(({ text }) => text).join('\n');

const ERROR = 'sandbox-snapshotter/error';

for (const transport of ['rpc', 'http'] as const) {
  describe(`over ${transport}`, () => {
    const ask = (method: string, options: object) => world[transport](method, options);

    test('tools are listed in the form of the Model Context Protocol', async () => {
      const { tools } = await ask('tools/list', of('agent'));
      assert.equal(tools.length, 9);
      for (const { name, title, description, inputSchema, outputSchema, annotations } of tools) {
        assert.match(name, /^workspace__work__[a-z_]+$/);
        assert.ok(title && description);
        assert.deepEqual([inputSchema.type, outputSchema.type], ['object', 'object']);
        assert.equal(typeof annotations.readOnlyHint, 'boolean');
      }
    });

    test('a tool that is called does what it says, and answers it as text and as data', async () => {
      const id = `called-${transport}`;
      await world.exec(id, 'echo good > file');
      const taken = await ask('tools/call', { ...of(id), name: 'workspace__work__snapshot' });
      assert.equal(taken.isError, undefined);
      const { ref } = taken.structuredContent;
      assert.ok(text(taken).includes(ref.ref.snapshotId));
      await world.restores(ref, 'cat file', 'good\n');
    });

    test('a tool that there is not is an error of the call', async () => {
      const error = await world.failure(
        ask('tools/call', { ...of('agent'), name: 'workspace__other__list' }),
      );
      assert.deepEqual([error.code, error.kind], ['TOOL_NOT_FOUND', 'not_found']);
    });

    test('tools that are declared wrongly are an error of the call', async () => {
      for (const options of [{}, { workspaces: [] }, { ...of('agent'), style: 'nested' }, of('')]) {
        assert.equal((await world.failure(ask('tools/list', options))).code, 'INVALID_ARGUMENT');
      }
    });

    test('whatever else fails is for the model to read', async () => {
      const name = 'workspace__work__snapshot';
      const failed = await ask('tools/call', { ...of('never-ran'), name });
      assert.deepEqual([failed.isError, failed.structuredContent], [true, undefined]);
      const { code, message, remediation, correlationId } = failed._meta[ERROR];
      assert.equal(code, 'SANDBOX_NOT_RUNNING');
      assert.equal(text(failed), `${code}: ${message} ${remediation}`);
      const line = world.log.find((line) => line.includes(correlationId)) ?? '{}';
      assert.partialDeepStrictEqual(JSON.parse(line), { event: 'tools/call', tool: 'snapshot', code });
    });

    test('what a model gives is logged by nobody', async () => {
      const secret = 'nobody should read this';
      const name = 'workspace__work__snapshot';
      for (const label of [secret, `${secret}\u0007`]) {
        const failed = await ask('tools/call', { ...of('never-ran'), name, arguments: { label } });
        assert.equal(failed.isError, true);
      }
      assert.ok(!world.log.some((line) => line.includes(secret)));
    });
  });
}

describe('without a bucket', () => {
  let bare: World;
  before(async () => {
    bare = await World.start({ snapshotter: { without: ['BACKUP_BUCKET'] } });
    await bare.exec('agent', 'echo v1 > file');
  });
  after(() => bare[Symbol.asyncDispose]());

  test('tools that need one are refused when they are asked for', async () => {
    for (const method of ['tools/list', 'tools/grant']) {
      const error = await bare.failure(bare.rpc(method, of('agent')));
      assert.equal(error.code, 'R2_BINDING_MISSING', method);
      assert.match(error.remediation ?? '', /BACKUP_BUCKET/);
    }
  });

  test('a model that calls one is told so', async () => {
    const name = 'workspace__work__list';
    const failed = await bare.rpc('tools/call', { ...of('agent'), name });
    assert.equal(failed._meta[ERROR].code, 'R2_BINDING_MISSING');
  });

  test('tools of checkpoints work', async () => {
    const workspaces = [{ name: 'work', checkpoint: true, sandboxId: 'agent' }];
    const { tools } = await bare.rpc('tools/list', { workspaces });
    assert.deepEqual(
      tools.map(({ name }: { name: string }) => name.split('__').at(-1)),
      ['snapshot_create', 'snapshot_list', 'snapshot_restore', 'snapshot_diff'],
    );
    const call = (op: string) =>
      bare.rpc('tools/call', { workspaces, name: `workspace__work__${op}`, arguments: { name: 's1' } });
    assert.match(text(await call('snapshot_create')), /^snapshot s1 created: [0-9a-f]{40}$/);
    await bare.exec('agent', 'echo v2 > file');
    assert.equal(text(await call('snapshot_restore')), 'restored snapshot s1 (1 file(s) changed):\nfile');
    assert.equal(text(await call('snapshot_diff')), 'no differences');
    assert.equal(await bare.exec('agent', 'cat file'), 'v1\n');
  });
});

test('an application that goes on in the new workspace declares that from then on', async () => {
  const call = (sandboxId: string, op: string, args: object = {}) =>
    world.rpc('tools/call', { ...of(sandboxId), name: `workspace__work__${op}`, arguments: args });
  await world.exec('left', 'echo good > file');
  const { ref } = (await call('left', 'snapshot')).structuredContent;
  const { sandboxId } = (await call('left', 'restore', { ref })).structuredContent.ref.ref;
  assert.deepEqual((await call(sandboxId, 'list')).structuredContent.snapshots, []);
  const again = (await call(sandboxId, 'restore', { ref })).structuredContent.ref;
  assert.equal(await world.exec(again.ref.sandboxId, 'cat file'), 'good\n');
});

describe('a workspace that persists by its name', () => {
  const workspaces = [{ name: 'work', snapshot: true, workspace: 'project' }];
  const call = (op: string, args: object = {}) =>
    world.rpc('tools/call', { workspaces, name: `workspace__work__${op}`, arguments: args });

  test('is worked with as whatever sandbox it has, and keeps its snapshots', async () => {
    const project = world.workspace('project');
    await project.create();
    await project.exec('echo first > file');
    const first = (await call('snapshot', { label: 'first' })).structuredContent.ref;
    await project.exec('echo second > file');
    await project.stop();

    for (const op of ['snapshot', 'snapshot_list']) {
      assert.equal((await call(op))._meta[ERROR].code, 'SANDBOX_NOT_RUNNING', op);
    }
    const restored = (await call('restore', { ref: first })).structuredContent.ref;
    assert.equal(await world.exec(restored.ref.sandboxId, 'cat file'), 'first\n');

    // Going back gives it another sandbox.
    await project.update({ currentSnapshotId: first.ref.snapshotId });
    const { sandboxId } = await project.start();
    assert.notEqual(sandboxId, first.ref.originId);
    await call('snapshot', { label: 'third' });
    const { snapshots } = (await call('list')).structuredContent;
    const shown = snapshots.map(({ label, ref }: any) => [label, ref.ref.originId]);
    assert.deepEqual(shown[0], ['third', sandboxId]);
    assert.deepEqual(shown.at(-1), ['first', first.ref.originId]);
  });

  test('is missing until it is made', async () => {
    const workspaces = [{ name: 'work', snapshot: true, workspace: 'nowhere' }];
    const failed = await world.rpc('tools/call', { workspaces, name: 'workspace__work__list' });
    assert.equal(failed._meta[ERROR].code, 'WORKSPACE_NOT_FOUND');
  });
});

test('an abort of the call ends the tool', async () => {
  await world.exec('aborted', 'echo x > file');
  await world.perform({ do: 'abort' }, 'impatient');
  const options = { ...of('aborted'), name: 'workspace__work__snapshot' };
  const { error } = await world.perform(
    { do: 'rpc', method: 'tools/call', options, signal: true },
    'impatient',
  );
  assert.equal(error?.code, 'ABORTED');
  assert.deepEqual(await world.labels('aborted'), []);
});
