// The tools over the Model Context Protocol, with its official client, which validates each result with the tool's schema.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { ProtocolError } from '@modelcontextprotocol/client';
import { addFormats, Ajv } from '@modelcontextprotocol/client/validators/ajv';

import { World } from '../world.ts';
import { PROTOCOL_VERSIONS, McpClient } from './mcp-client.ts';

let world: World;
before(async () => {
  world = await World.start({ snapshotter: { port: 0 } });
});
after(() => world[Symbol.asyncDispose]());

const OPS = ['snapshot', 'restore', 'branch', 'list', 'delete'];
const CHECKPOINT_OPS = ['snapshot_create', 'snapshot_list', 'snapshot_restore', 'snapshot_diff'];

/** Connects a client for the tools that the query of the URL declares. */
async function connect(query: string, version = '2026-07-28'): Promise<McpClient> {
  return McpClient.connect(await world.url(`/mcp?${query}`), PROTOCOL_VERSIONS[version]);
}

/** Compiles a schema in strict mode to a validator. */
function validator(schema: object | undefined) {
  assert.ok(schema);
  const ajv = new Ajv({ strict: true });
  addFormats(ajv);
  return ajv.compile(schema);
}

/** Returns the protocol error of a request, which must fail. */
async function protocolError(request: Promise<unknown>): Promise<ProtocolError> {
  const error = await world.failure(request);
  assert.ok(error instanceof ProtocolError, error.message);
  return error;
}

for (const version of Object.keys(PROTOCOL_VERSIONS)) {
  describe(`a client of ${version}`, () => {
    test('negotiates that version, and receives the description of the server', async () => {
      await using mcp = await connect('sandbox=agent', version);
      assert.equal(mcp.version, version);
      assert.equal(mcp.client.getServerVersion()?.name, 'sandbox-snapshotter');
      assert.deepEqual(mcp.client.getServerCapabilities(), { tools: {} });
      assert.match(mcp.client.getInstructions() ?? '', /restoring it creates a new workspace/);
    });

    test('can use every tool of a workspace', async () => {
      const id = `every-${version}`;
      await using mcp = await connect(`sandbox=${id}`, version);
      const tool = (op: string) => `workspace__${id}__${op}`;
      const used = new Set<string>();
      const { tools } = await mcp.client.listTools();
      const use = (op: string, args = {}) => {
        used.add(tool(op));
        const schema = tools.find(({ name }) => name === tool(op))?.inputSchema;
        assert.ok(validator(schema)(args), `the arguments must match the schema of ${op}`);
        return mcp.data(tool(op), args);
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

    test('receives the error of a tool as a result', async () => {
      await using mcp = await connect('sandbox=never-ran', version);
      const { isError, content, _meta } = await mcp.call('workspace__never-ran__snapshot');
      assert.equal(isError, true);
      assert.match(JSON.stringify(content), /SANDBOX_NOT_RUNNING: .*Continue in a workspace/);
      assert.partialDeepStrictEqual(_meta, {
        'sandbox-snapshotter/error': { code: 'SANDBOX_NOT_RUNNING', retryable: false },
      });
    });

    test('receives an error about invalid arguments as a result', async () => {
      await using mcp = await connect('sandbox=never-ran', version);
      for (const args of [{ name: 'x' }, { label: 7 }, { workspace: 'elsewhere' }]) {
        const { isError, content } = await mcp.call('workspace__never-ran__snapshot', args);
        assert.equal(isError, true);
        assert.match(JSON.stringify(content), /INVALID_(ARGUMENT|REF)/);
      }
    });

    test('receives a protocol error for an unknown tool', async () => {
      await using mcp = await connect('sandbox=agent', version);
      for (const name of ['workspace__other__list', 'workspace_list', 'list']) {
        assert.equal((await protocolError(mcp.call(name))).code, -32602, name);
      }
    });

    test('receives a protocol error for an unknown method', async () => {
      await using mcp = await connect('sandbox=agent', version);
      const request = mcp.client.request({ method: 'prompts/list' });
      await assert.rejects(request, /There is no method /);
    });
  });
}

test('a client with automatic negotiation uses the newest version', async () => {
  await using mcp = await McpClient.connect(await world.url('/mcp?sandbox=agent'), 'auto');
  assert.equal(mcp.version, '2026-07-28');
});

test('a client whose URL names no workspace receives an error when it lists tools', async () => {
  await using mcp = await connect('style=flat');
  const { code, message } = await protocolError(mcp.names());
  assert.equal(code, -32602);
  assert.match(message, /\/mcp\?sandbox=/);
});

describe('the query of the URL', () => {
  test('declares sandboxes and named workspaces', async () => {
    await world.workspace('project', 'acme').create();
    await using mcp = await connect('workspace=project&tenant=acme&sandbox=agent');
    const named = (name: string) => [...OPS, ...CHECKPOINT_OPS].map((op) => `workspace__${name}__${op}`);
    assert.deepEqual((await mcp.names()).sort(), [...named('agent'), ...named('project')].sort());
    const { ref } = await mcp.data('workspace__project__snapshot');
    assert.equal(ref.ref.originId, await world.workspace('project', 'acme').sandboxId());
  });

  test('selects the flat style', async () => {
    await using mcp = await connect('sandbox=one&sandbox=two&style=flat');
    assert.deepEqual(
      (await mcp.names()).sort(),
      [...OPS.map((op) => `workspace_${op}`), ...CHECKPOINT_OPS].sort(),
    );
    await world.exec('two', 'echo x > file');
    const { ref } = await mcp.data('workspace_snapshot', { workspaceName: 'two' });
    assert.equal(ref.ref.originId, 'two');
    assert.equal((await mcp.data('workspace_list', { workspaceName: 'one' })).snapshots.length, 0);
    assert.equal((await mcp.data('workspace_list', { workspaceName: 'two' })).snapshots.length, 1);
  });

  test('selects read-only tools', async () => {
    await using mcp = await connect('sandbox=agent&readOnly=true');
    const names = await mcp.names();
    assert.deepEqual(
      names.map((name) => name.split('__').at(-1)),
      ['list', 'snapshot_list', 'snapshot_diff'],
    );
    assert.equal((await protocolError(mcp.call('workspace__agent__snapshot'))).code, -32602);
    assert.deepEqual((await mcp.data('workspace__agent__list')).snapshots, []);
  });

  test('sets the captured directory', async () => {
    await world.exec('part', 'mkdir app; echo in > app/file; echo out > file');
    await using mcp = await connect('sandbox=part&dir=/workspace/app');
    const { ref } = await mcp.data('workspace__part__snapshot');
    assert.equal(ref.ref.backup.dir, '/workspace/app');
  });
});

test('the schemas of the tools are valid for strict validators', async () => {
  for (const query of ['sandbox=one', 'sandbox=one&sandbox=two&style=flat', 'workspace=w&readOnly=true']) {
    await using mcp = await connect(query);
    for (const { name, inputSchema, outputSchema } of (await mcp.client.listTools()).tools) {
      for (const schema of [inputSchema, outputSchema]) assert.doesNotThrow(() => validator(schema), name);
    }
  }
});
