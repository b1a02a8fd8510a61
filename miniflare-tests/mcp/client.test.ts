// The tools over the Model Context Protocol, as its official client uses them. That compares what a tool answers with the
// tool's schema, and throws where the two differ.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { ProtocolError } from '@modelcontextprotocol/client';
import { addFormats, Ajv } from '@modelcontextprotocol/client/validators/ajv';

import { World } from '../world.ts';
import { ERAS, Peer } from './peer.ts';

let world: World;
before(async () => {
  world = await World.start({ snapshotter: { port: 0 } });
});
after(() => world[Symbol.asyncDispose]());

const OPS = ['snapshot', 'restore', 'branch', 'list', 'delete'];
const CHECKPOINT_OPS = ['snapshot_create', 'snapshot_list', 'snapshot_restore', 'snapshot_diff'];

/** A client for the tools that the query of the URL says. */
async function connect(query: string, era = '2026-07-28'): Promise<Peer> {
  return Peer.connect(await world.url(`/mcp?${query}`), ERAS[era]);
}

/** Tells whether a value is of a schema, which must be a strict one. */
function validator(schema: object | undefined) {
  assert.ok(schema);
  const ajv = new Ajv({ strict: true });
  addFormats(ajv);
  return ajv.compile(schema);
}

/** The error that a request is answered with. */
async function fault(request: Promise<unknown>): Promise<ProtocolError> {
  const error = await world.failure(request);
  assert.ok(error instanceof ProtocolError, error.message);
  return error;
}

for (const era of Object.keys(ERAS)) {
  describe(`a client of ${era}`, () => {
    test('agrees on that version, and learns what the server is', async () => {
      await using peer = await connect('sandbox=agent', era);
      assert.equal(peer.version, era);
      assert.equal(peer.client.getServerVersion()?.name, 'sandbox-snapshotter');
      assert.deepEqual(peer.client.getServerCapabilities(), { tools: {} });
      assert.match(peer.client.getInstructions() ?? '', /restoring it makes a new workspace/);
    });

    test('uses every tool of a workspace', async () => {
      const id = `every-${era}`;
      await using peer = await connect(`sandbox=${id}`, era);
      const tool = (op: string) => `workspace__${id}__${op}`;
      const used = new Set<string>();
      const { tools } = await peer.client.listTools();
      const use = (op: string, args = {}) => {
        used.add(tool(op));
        const schema = tools.find(({ name }) => name === tool(op))?.inputSchema;
        assert.ok(validator(schema)(args), `the schema of ${op} lacks what it is called with`);
        return peer.data(tool(op), args);
      };
      await world.exec(id, 'echo v1 > file');

      const { commit } = await use('snapshot_create', { name: 's1', description: 'first' });
      await world.exec(id, 'echo v2 > file');
      assert.match((await use('snapshot_diff', { name: 's1' })).diff, /^-v1\n\+v2$/m);
      assert.deepEqual((await use('snapshot_restore', { name: 's1' })).changed, ['file']);
      assert.equal(await world.exec(id, 'cat file'), 'v1\n');
      assert.equal((await use('snapshot_list')).checkpoints[0].commit, commit);

      const { ref } = await use('snapshot', { label: 'kept' });
      assert.deepEqual((await use('list')).snapshots[0].ref, ref);
      for (const op of ['restore', 'branch']) {
        const workspace = (await use(op, { ref })).ref;
        assert.equal(await world.exec(workspace.ref.sandboxId, 'cat file'), 'v1\n');
        await use('snapshot', { workspace });
      }
      assert.equal((await use('delete', { ref })).removed, true);
      assert.deepEqual([...used].sort(), tools.map(({ name }) => name).sort());
    });

    test('reads as an answer what a tool failed with', async () => {
      await using peer = await connect('sandbox=never-ran', era);
      const { isError, content, _meta } = await peer.call('workspace__never-ran__snapshot');
      assert.equal(isError, true);
      assert.match(JSON.stringify(content), /SANDBOX_NOT_RUNNING: .*Go on in a workspace/);
      assert.partialDeepStrictEqual(_meta, {
        'sandbox-snapshotter/error': { code: 'SANDBOX_NOT_RUNNING', retryable: false },
      });
    });

    test('reads as an answer that its arguments are wrong', async () => {
      await using peer = await connect('sandbox=never-ran', era);
      for (const args of [{ name: 'x' }, { label: 7 }, { workspace: 'elsewhere' }]) {
        const { isError, content } = await peer.call('workspace__never-ran__snapshot', args);
        assert.equal(isError, true);
        assert.match(JSON.stringify(content), /INVALID_(ARGUMENT|REF)/);
      }
    });

    test('is refused a tool that there is not', async () => {
      await using peer = await connect('sandbox=agent', era);
      for (const name of ['workspace__other__list', 'workspace_list', 'list']) {
        assert.equal((await fault(peer.call(name))).code, -32602, name);
      }
    });

    test('is refused a method that there is not', async () => {
      await using peer = await connect('sandbox=agent', era);
      const request = peer.client.request({ method: 'prompts/list' });
      await assert.rejects(request, /There is no method /);
    });
  });
}

test('a client that finds out by itself uses the newest version', async () => {
  await using peer = await Peer.connect(await world.url('/mcp?sandbox=agent'), 'auto');
  assert.equal(peer.version, '2026-07-28');
});

test('a client whose URL names no workspace is told so when it asks for tools', async () => {
  await using peer = await connect('style=flat');
  const { code, message } = await fault(peer.names());
  assert.equal(code, -32602);
  assert.match(message, /\/mcp\?sandbox=/);
});

describe('the URL', () => {
  test('names sandboxes and workspaces that persist by name', async () => {
    await world.workspace('project', 'acme').create();
    await using peer = await connect('workspace=project&tenant=acme&sandbox=agent');
    const named = (name: string) => [...OPS, ...CHECKPOINT_OPS].map((op) => `workspace__${name}__${op}`);
    assert.deepEqual((await peer.names()).sort(), [...named('agent'), ...named('project')].sort());
    const { ref } = await peer.data('workspace__project__snapshot');
    assert.equal(ref.ref.originId, await world.workspace('project', 'acme').sandboxId());
  });

  test('asks for the flat style', async () => {
    await using peer = await connect('sandbox=one&sandbox=two&style=flat');
    assert.deepEqual(
      (await peer.names()).sort(),
      [...OPS.map((op) => `workspace_${op}`), ...CHECKPOINT_OPS].sort(),
    );
    await world.exec('two', 'echo x > file');
    const { ref } = await peer.data('workspace_snapshot', { workspaceName: 'two' });
    assert.equal(ref.ref.originId, 'two');
    assert.equal((await peer.data('workspace_list', { workspaceName: 'one' })).snapshots.length, 0);
    assert.equal((await peer.data('workspace_list', { workspaceName: 'two' })).snapshots.length, 1);
  });

  test('asks for tools that only read', async () => {
    await using peer = await connect('sandbox=agent&readOnly=true');
    const names = await peer.names();
    assert.deepEqual(
      names.map((name) => name.split('__').at(-1)),
      ['list', 'snapshot_list', 'snapshot_diff'],
    );
    assert.equal((await fault(peer.call('workspace__agent__snapshot'))).code, -32602);
    assert.deepEqual((await peer.data('workspace__agent__list')).snapshots, []);
  });

  test('says which directory is captured', async () => {
    await world.exec('part', 'mkdir app; echo in > app/file; echo out > file');
    await using peer = await connect('sandbox=part&dir=/workspace/app');
    const { ref } = await peer.data('workspace__part__snapshot');
    assert.equal(ref.ref.backup.dir, '/workspace/app');
  });
});

test('the schemas are such as strict validators take', async () => {
  for (const query of ['sandbox=one', 'sandbox=one&sandbox=two&style=flat', 'workspace=w&readOnly=true']) {
    await using peer = await connect(query);
    for (const { name, inputSchema, outputSchema } of (await peer.client.listTools()).tools) {
      for (const schema of [inputSchema, outputSchema]) assert.doesNotThrow(() => validator(schema), name);
    }
  }
});
