// The tools of an application for a model: their list, their results and their errors.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { World } from '../world.ts';

let world: World;
before(async () => {
  world = await World.start();
});
after(() => world[Symbol.asyncDispose]());

/** Declares the tools of one sandbox as `work`. */
const of = (sandboxId: string) => ({ workspaces: [{ name: 'work', snapshot: true, sandboxId }] });

/** Returns the text of a result. */
const text = ({ content }: { content: { text: string }[] }) => content.map(({ text }) => text).join('\n');

const ERROR = 'sandbox-snapshotter/error';

for (const transport of ['rpc', 'http'] as const) {
  describe(`over ${transport}`, () => {
    const call = (method: string, options: object) => world[transport](method, options);

    test('tools are listed in the form of the Model Context Protocol', async () => {
      const { tools } = await call('tools/list', of('agent'));
      assert.equal(tools.length, 9);
      for (const { name, title, description, inputSchema, outputSchema, annotations } of tools) {
        assert.match(name, /^workspace__work__[a-z_]+$/);
        assert.ok(title && description);
        assert.deepEqual([inputSchema.type, outputSchema.type], ['object', 'object']);
        assert.equal(typeof annotations.readOnlyHint, 'boolean');
      }
    });

    test('a tool returns its result as text and as structured content', async () => {
      const id = `called-${transport}`;
      await world.exec(id, 'echo good > file');
      const taken = await call('tools/call', { ...of(id), name: 'workspace__work__snapshot' });
      assert.equal(taken.isError, undefined);
      const { ref } = taken.structuredContent;
      assert.ok(text(taken).includes(ref.ref.snapshotId));
      await world.assertRestores(ref, 'cat file', 'good\n');
    });

    test('a snapshot of a named workspace is restored by its label', async () => {
      const workspace = world.workspace(`labelled-${transport}`);
      const { name } = workspace;
      await workspace.create();
      await call('exec', { name, command: 'echo good > file' });
      const toolset = { workspaces: [{ name: 'work', snapshot: true, workspace: name }] };
      const tool = (op: string, options: object) =>
        call('tools/call', { ...toolset, name: `workspace__work__${op}`, arguments: options });
      await tool('snapshot', { label: 'good' });
      for (const label of ['good', 'latest']) {
        const { ref } = (await tool('restore', { ref: label })).structuredContent;
        assert.equal(await world.exec(ref.ref.sandboxId, 'cat file'), 'good\n', label);
      }
      const unknown = await tool('branch', { ref: 'goood' });
      assert.match(text(unknown), /^SNAPSHOT_NOT_FOUND: .*"goood".*"good"/);
      assert.match(text(await tool('delete', { ref: 'good' })), /^INVALID_REF: /);
    });

    test('a call of an unknown tool fails with TOOL_NOT_FOUND', async () => {
      const error = await world.failure(
        call('tools/call', { ...of('agent'), name: 'workspace__other__list' }),
      );
      assert.deepEqual([error.code, error.kind], ['TOOL_NOT_FOUND', 'not_found']);
    });

    test('a call with an invalid declaration fails with INVALID_ARGUMENT', async () => {
      for (const options of [{}, { workspaces: [] }, { ...of('agent'), style: 'nested' }, of('')]) {
        assert.equal((await world.failure(call('tools/list', options))).code, 'INVALID_ARGUMENT');
      }
    });

    test('any other failure is a result for the model', async () => {
      const name = 'workspace__work__snapshot';
      const failed = await call('tools/call', { ...of('never-ran'), name });
      assert.deepEqual([failed.isError, failed.structuredContent], [true, undefined]);
      const { code, message, remediation, correlationId } = failed._meta[ERROR];
      assert.equal(code, 'SANDBOX_NOT_RUNNING');
      assert.equal(text(failed), `${code}: ${message} → ${remediation}`);
      const line = world.log.find((line) => line.includes(correlationId)) ?? '{}';
      assert.partialDeepStrictEqual(JSON.parse(line), { event: 'tools/call', tool: 'snapshot', code });
    });

    test('arguments of a model are not logged', async () => {
      const secret = 'a secret of the user';
      const name = 'workspace__work__snapshot';
      for (const label of [secret, `${secret}\u0007`]) {
        const failed = await call('tools/call', { ...of('never-ran'), name, arguments: { label } });
        assert.equal(failed.isError, true);
      }
      assert.ok(!world.log.some((line) => line.includes(secret)));
    });
  });
}

describe('without a bucket,', () => {
  let withoutBucket: World;
  before(async () => {
    withoutBucket = await World.start({ snapshotter: { without: ['BACKUP_BUCKET'] } });
    await withoutBucket.exec('agent', 'echo v1 > file');
  });
  after(() => withoutBucket[Symbol.asyncDispose]());

  test('a list or a grant of tools that need one fails with R2_BINDING_MISSING', async () => {
    for (const method of ['tools/list', 'tools/grant']) {
      const error = await withoutBucket.failure(withoutBucket.rpc(method, of('agent')));
      assert.equal(error.code, 'R2_BINDING_MISSING', method);
      assert.match(error.remediation ?? '', /BACKUP_BUCKET/);
    }
  });

  test('a call of such a tool returns the error to the model', async () => {
    const name = 'workspace__work__list';
    const failed = await withoutBucket.rpc('tools/call', { ...of('agent'), name });
    assert.equal(failed._meta[ERROR].code, 'R2_BINDING_MISSING');
  });

  test('tools of checkpoints work', async () => {
    const workspaces = [{ name: 'work', checkpoint: true, sandboxId: 'agent' }];
    const { tools } = await withoutBucket.rpc('tools/list', { workspaces });
    assert.deepEqual(
      tools.map(({ name }: { name: string }) => name.split('__').at(-1)),
      ['snapshot_create', 'snapshot_list', 'snapshot_restore', 'snapshot_diff'],
    );
    const call = (op: string) =>
      withoutBucket.rpc('tools/call', {
        workspaces,
        name: `workspace__work__${op}`,
        arguments: { name: 's1' },
      });
    assert.match(text(await call('snapshot_create')), /^checkpoint s1 created: [0-9a-f]{40}$/);
    await withoutBucket.exec('agent', 'echo v2 > file');
    assert.equal(text(await call('snapshot_restore')), 'restored checkpoint s1 (1 file(s) changed):\nfile');
    assert.equal(text(await call('snapshot_diff')), 'no differences');
    assert.equal(await withoutBucket.exec('agent', 'cat file'), 'v1\n');
  });
});

test('an application can declare the restored sandbox as its workspace', async () => {
  const call = (sandboxId: string, op: string, args: object = {}) =>
    world.rpc('tools/call', { ...of(sandboxId), name: `workspace__work__${op}`, arguments: args });
  await world.exec('former', 'echo good > file');
  const { ref } = (await call('former', 'snapshot')).structuredContent;
  const { sandboxId } = (await call('former', 'restore', { ref })).structuredContent.ref.ref;
  assert.deepEqual((await call(sandboxId, 'list')).structuredContent.snapshots, []);
  const again = (await call(sandboxId, 'restore', { ref })).structuredContent.ref;
  assert.equal(await world.exec(again.ref.sandboxId, 'cat file'), 'good\n');
});

describe('a named workspace', () => {
  const workspaces = [{ name: 'work', snapshot: true, workspace: 'project' }];
  const call = (op: string, args: object = {}) =>
    world.rpc('tools/call', { workspaces, name: `workspace__work__${op}`, arguments: args });

  test('is used with its current sandbox, and lists the snapshots of the former one', async () => {
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

    // A change of the current snapshot gives the workspace another sandbox.
    await project.update({ currentSnapshotId: first.ref.snapshotId });
    const { sandboxId } = await project.start();
    assert.notEqual(sandboxId, first.ref.originId);
    await call('snapshot', { label: 'third' });
    const { snapshots } = (await call('list')).structuredContent;
    const shown = snapshots.map(({ label, ref }: any) => [label, ref.ref.originId]);
    assert.deepEqual(shown[0], ['third', sandboxId]);
    assert.deepEqual(shown.at(-1), ['first', first.ref.originId]);
  });

  test('must exist when a tool is called', async () => {
    const workspaces = [{ name: 'work', snapshot: true, workspace: 'missing' }];
    const failed = await world.rpc('tools/call', { workspaces, name: 'workspace__work__list' });
    assert.equal(failed._meta[ERROR].code, 'WORKSPACE_NOT_FOUND');
  });
});

test('an aborted call fails with ABORTED, and takes no snapshot', async () => {
  await world.exec('aborted', 'echo x > file');
  await world.runStep({ do: 'abort' }, 'aborting');
  const options = { ...of('aborted'), name: 'workspace__work__snapshot' };
  const { error } = await world.runStep(
    { do: 'rpc', method: 'tools/call', options, signal: true },
    'aborting',
  );
  assert.equal(error?.code, 'ABORTED');
  assert.deepEqual(await world.labels('aborted'), []);
});
