// Helix and the tools for language models, with the built Worker.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { CloudflareSandboxSnapshotter } from '../../client/src/helix.ts';
import { ClientFixture, failure } from './fixture.ts';

let fixture: ClientFixture;
before(async () => {
  fixture = await ClientFixture.start();
  await fixture.exec('agent', 'echo x > /workspace/file');
});
after(() => fixture[Symbol.asyncDispose]());

describe('the Snapshotter of Helix', () => {
  const helix = (sandboxId = 'agent') => new CloudflareSandboxSnapshotter(fixture.overHttp, { sandboxId });

  test('takes snapshots as strict refs, and creates workspaces from them', async () => {
    await helix().ready();
    const ref = await helix().snapshot();
    assert.deepEqual(Object.keys(ref).sort(), ['providerId', 'ref']);
    for (const [operation, id] of Object.entries({ restore: /^agent-restored-/, branch: /^agent-branch-/ })) {
      const workspace = await helix()[operation as 'restore'](ref);
      assert.deepEqual(Object.keys(workspace).sort(), ['capabilities', 'providerId', 'ref', 'schemaVersion']);
      const { sandboxId } = workspace.ref as { sandboxId: string };
      assert.match(sandboxId, id);
      assert.equal(await fixture.exec(sandboxId, 'cat /workspace/file'), 'x\n');
    }
    assert.deepEqual(await helix().list({ limit: 1 }), [ref]);
  });

  test('refuses a ref with unknown fields', async () => {
    const ref = await helix().snapshot();
    const { code } = await failure(helix().restore({ ...ref, extra: true } as typeof ref));
    assert.equal(code, 'INVALID_REF');
  });

  test('refuses a snapshot of another lineage, unless the caller allows it', async () => {
    await fixture.exec('unrelated', 'echo y > /workspace/file');
    const ref = await helix('unrelated').snapshot();
    for (const operation of ['restore', 'branch', 'delete'] as const)
      assert.equal((await failure(helix()[operation](ref))).code, 'CROSS_LINEAGE', operation);
    await helix().delete(ref, { allowCrossLineage: true });
    assert.deepEqual(await helix('unrelated').list(), []);
  });

  test('captures the present sandbox of a named workspace', async () => {
    const { sandboxId } = await fixture.overHttp.workspaces.getOrCreate({
      name: 'notebook',
      dir: '/workspace',
    });
    await fixture.exec(sandboxId, 'echo x > /workspace/file');
    const named = new CloudflareSandboxSnapshotter(fixture.overHttp, { workspace: 'notebook' });
    await named.ready();
    const ref = await named.snapshot();
    assert.deepEqual(await named.list(), [ref]);
  });

  test('is not ready without a bucket', async () => {
    await using withoutBucket = await ClientFixture.start({ snapshotter: { without: ['BACKUP_BUCKET'] } });
    const unready = new CloudflareSandboxSnapshotter(withoutBucket.overHttp, { sandboxId: 'agent' });
    const { code, remediation } = await failure(unready.ready());
    assert.equal(code, 'R2_BINDING_MISSING');
    assert.match(remediation, /r2_buckets/);
  });
});

describe('tools', () => {
  const toolset = (name = 'code') =>
    fixture.overHttp.toolset({ workspaces: [{ name, snapshot: true, sandboxId: 'agent' }] });

  test('have names that every model accepts', async () => {
    const { definitions } = await toolset('a'.repeat(35));
    assert.ok(definitions.length > 0);
    for (const { name } of definitions) assert.match(name, /^[A-Za-z0-9_-]{1,64}$/);
  });

  test('are called, and the model gets the result as text', async () => {
    const tools = await toolset();
    const { chat } = tools.forOpenAI();
    const snapshot = chat.tools.find(({ function: { name } }) => name === 'workspace__code__snapshot');
    assert.ok(snapshot);
    const call = {
      id: 'call-1',
      type: 'function',
      function: { name: snapshot.function.name, arguments: '{}' },
    };
    const [message] = await chat.answer([call]);
    assert.equal(message?.tool_call_id, 'call-1');
    assert.match(message?.content ?? '', /snap-[a-z0-9]{16}/);
    const { structuredContent } = await tools.callTool('workspace__code__snapshot');
    const restored = await tools.callTool('workspace__code__restore', { ref: structuredContent?.ref });
    assert.equal(restored.isError ?? false, false, JSON.stringify(restored));
  });

  test('return an error result if they fail', async () => {
    const result = await (await toolset()).callTool('workspace__code__restore', { ref: { providerId: 'x' } });
    assert.equal(result.isError, true);
    assert.match(result.content[0]?.text ?? '', /^[A-Z_]+: /);
  });

  test('that do not exist fail with TOOL_NOT_FOUND', async () => {
    assert.equal((await failure((await toolset()).callTool('other'))).code, 'TOOL_NOT_FOUND');
  });
});
