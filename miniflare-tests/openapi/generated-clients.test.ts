// Clients that common generators make from the API document: they type-check, and call the Worker.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';

import { at } from '../../scripts/setup.mjs';
import { ApiFixture, SANDBOX } from './fixture.ts';
import { TOKEN } from '../world.ts';

const PYTHON = `
import json, sys
from sandbox_snapshotter_client import AuthenticatedClient
from sandbox_snapshotter_client.api.snapshots import list_, restore, snapshot
from sandbox_snapshotter_client.models import ListOptions, Page, Problem, RestoreOptions, SnapshotOptions, SnapshotRef
from sandbox_snapshotter_client.models import TakenSnapshot, WorkspaceRef

address, token, sandbox_id = sys.argv[1:]
client = AuthenticatedClient(base_url=address, token=token)
taken = snapshot.sync(client=client, body=SnapshotOptions(sandbox_id=sandbox_id, label="from python"))
assert isinstance(taken, TakenSnapshot), taken
ref = SnapshotRef(provider_id=taken.provider_id, ref=taken.ref)
restored = restore.sync(client=client, body=RestoreOptions(ref=ref))
assert isinstance(restored, WorkspaceRef), restored
page = list_.sync(client=client, body=ListOptions(sandbox_id=sandbox_id))
assert isinstance(page, Page), page
unknown = restore.sync(client=client, body=RestoreOptions(sandbox_id=sandbox_id, label="unknown"))
assert isinstance(unknown, Problem), unknown
labels = [summary.label for summary in page.snapshots]
print(json.dumps({"restored": restored.ref.sandbox_id, "labels": labels, "code": unknown.code.value}))
`;

const TYPESCRIPT = `
import createClient from 'openapi-fetch';
import type { paths } from './api.d.ts';

declare const process: { argv: string[] };
const [baseUrl = '', token = '', sandboxId = ''] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { authorization: \`Bearer \${token}\` } });

const taken = await client.POST('/v1/snapshot', { body: { sandboxId, label: 'from typescript' } });
if (!taken.data) throw new Error(taken.error.message);
const { providerId, ref } = taken.data;
const restored = await client.POST('/v1/restore', { body: { ref: { providerId, ref } } });
if (!restored.data) throw new Error(restored.error.message);
const page = await client.POST('/v1/list', { body: { sandboxId } });
const unknown = await client.POST('/v1/restore', { body: { sandboxId, label: 'unknown' } });
const labels: (string | undefined)[] | undefined = page.data?.snapshots.map(({ label }) => label);
const code: string | undefined = unknown.error?.code;
console.log(JSON.stringify({ restored: restored.data.ref.sandboxId, labels, code }));
`;

let api: ApiFixture;
let folder: string;
before(async () => {
  api = await ApiFixture.start();
  await api.prepare();
  folder = await mkdtemp(join(tmpdir(), 'generated-clients-'));
});
after(async () => {
  await api[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

/** Runs a program in the folder, and returns its output. The test fails if the program fails. */
async function run(program: string, ...args: string[]): Promise<string> {
  const PATH = [at('.tools/openapi-python-client/bin'), process.env.PATH].join(delimiter);
  const env = {
    ...process.env,
    PATH,
    PYTHONPATH: join(folder, 'python'),
    SNAPSHOTTER_ADDRESS: api.address,
    SNAPSHOTTER_TOKEN: TOKEN,
  };
  const child = spawn(program, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const status = new Promise<number | null>((end, fail) => child.on('error', fail).on('close', end));
  const [code, out, errors] = await Promise.all([status, text(child.stdout), text(child.stderr)]);
  assert.equal(code, 0, out + errors);
  return out;
}

function assertCalled(output: string, label: string) {
  const { restored, labels, code } = JSON.parse(output);
  assert.match(restored, new RegExp(`^${SANDBOX}-restored-`));
  assert.equal(labels[0], label);
  assert.equal(code, 'SNAPSHOT_NOT_FOUND');
}

const DOCUMENT = at('reference/openapi.json');

describe('a generated client', () => {
  test('of openapi-python-client type-checks and calls the Worker', async () => {
    const options = ['--path', DOCUMENT, '--output-path', 'python', '--fail-on-warning'];
    await run('openapi-python-client', 'generate', ...options);
    await writeFile(join(folder, 'main.py'), PYTHON);
    await run('mypy', '--strict-equality', 'main.py', 'python/sandbox_snapshotter_client');
    assertCalled(await run('python3', 'main.py', api.address, TOKEN, SANDBOX), 'from python');
    const [, example = ''] = /^```python\n([^]*?)^```/m.exec(await readFile(at('docs/api.md'), 'utf8')) ?? [];
    await writeFile(join(folder, 'example.py'), example);
    assert.equal(await run('python3', 'example.py'), '0 hello\n\n');
  });

  test('of openapi-typescript type-checks and calls the Worker', async () => {
    const bin = at('.tools/openapi-typescript/node_modules/.bin');
    const modules = at('.tools/openapi-typescript/node_modules');
    await run(join(bin, 'openapi-typescript'), DOCUMENT, '-o', 'api.d.ts', '--default-non-nullable=false');
    await writeFile(join(folder, 'main.ts'), TYPESCRIPT);
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
    await run('ln', '-s', modules, 'node_modules');
    const settings = ['--target', 'es2022', '--module', 'nodenext', '--lib', 'es2022,dom'];
    await run(join(bin, 'tsc'), '--strict', '--skipLibCheck', ...settings, 'main.ts');
    assertCalled(await run(process.execPath, 'main.js', api.address, TOKEN, SANDBOX), 'from typescript');
  });
});
