// Helix and the tools for language models, over the real Worker.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { CloudflareSandboxSnapshotter } from '../../client/src/helix.ts';
import { failure, Visit } from './visit.ts';

let visit: Visit;
before(async () => {
  visit = await Visit.start();
  await visit.exec('agent', 'echo x > /workspace/file');
});
after(() => visit[Symbol.asyncDispose]());

describe('Helix', () => {
  const helix = (sandboxId = 'agent') => new CloudflareSandboxSnapshotter(visit.outside, { sandboxId });

  test('a snapshot is a strict ref, and gives new workspaces', async () => {
    await helix().ready();
    const ref = await helix().snapshot();
    assert.deepEqual(Object.keys(ref).sort(), ['providerId', 'ref']);
    for (const [operation, id] of Object.entries({ restore: /^agent-restored-/, branch: /^agent-branch-/ })) {
      const workspace = await helix()[operation as 'restore'](ref);
      assert.deepEqual(Object.keys(workspace).sort(), ['capabilities', 'providerId', 'ref', 'schemaVersion']);
      const { sandboxId } = workspace.ref as { sandboxId: string };
      assert.match(sandboxId, id);
      assert.equal(await visit.exec(sandboxId, 'cat /workspace/file'), 'x\n');
    }
    assert.deepEqual(await helix().list({ limit: 1 }), [ref]);
  });

  test('a ref with more in it is refused', async () => {
    const ref = await helix().snapshot();
    const { code } = await failure(helix().restore({ ...ref, extra: true } as typeof ref));
    assert.equal(code, 'INVALID_REF');
  });

  test('a snapshot of another lineage is refused, unless that is allowed', async () => {
    await visit.exec('stranger', 'echo y > /workspace/file');
    const ref = await helix('stranger').snapshot();
    for (const operation of ['restore', 'branch', 'delete'] as const)
      assert.equal((await failure(helix()[operation](ref))).code, 'CROSS_LINEAGE', operation);
    await helix().delete(ref, { allowCrossLineage: true });
    assert.deepEqual(await helix('stranger').list(), []);
  });

  test('a workspace that persists by name is the sandbox that it has now', async () => {
    const { sandboxId } = await visit.outside.workspaces.getOrCreate({ name: 'notebook', dir: '/workspace' });
    await visit.exec(sandboxId, 'echo x > /workspace/file');
    const named = new CloudflareSandboxSnapshotter(visit.outside, { workspace: 'notebook' });
    await named.ready();
    const ref = await named.snapshot();
    assert.deepEqual(await named.list(), [ref]);
  });

  test('a deployment without a bucket is not ready', async () => {
    await using bare = await Visit.start({ snapshotter: { without: ['BACKUP_BUCKET'] } });
    const unready = new CloudflareSandboxSnapshotter(bare.outside, { sandboxId: 'agent' });
    const { code, remediation } = await failure(unready.ready());
    assert.equal(code, 'R2_BINDING_MISSING');
    assert.match(remediation, /r2_buckets/);
  });
});

describe('tools', () => {
  const toolset = (name = 'code') =>
    visit.outside.toolset({ workspaces: [{ name, snapshot: true, sandboxId: 'agent' }] });

  test('are offered under names that every model takes', async () => {
    const { definitions } = await toolset('a'.repeat(35));
    assert.ok(definitions.length > 0);
    for (const { name } of definitions) assert.match(name, /^[A-Za-z0-9_-]{1,64}$/);
  });

  test('are called, and the model is told in words', async () => {
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

  test('that fail say so, with the error', async () => {
    const result = await (await toolset()).callTool('workspace__code__restore', { ref: { providerId: 'x' } });
    assert.equal(result.isError, true);
    assert.match(result.content[0]?.text ?? '', /^[A-Z_]+: /);
  });

  test('that are not there are an error', async () => {
    assert.equal((await failure((await toolset()).callTool('other'))).code, 'TOOL_NOT_FOUND');
  });
});
