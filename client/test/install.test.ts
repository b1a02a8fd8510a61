// The packed package, installed in a new project.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { problem } from './fakes.ts';
import { Project, ROOT } from './projects.ts';

const APPLICATION = `
import { http, NotFoundError, SnapshotterClient, type Summary } from 'sandbox-snapshotter-client';
import { CloudflareSandboxSnapshotter } from 'sandbox-snapshotter-client/helix';
import schema from 'sandbox-snapshotter-client/schema.json' with { type: 'json' };

declare const process: { argv: string[] };

const snapshotter = new SnapshotterClient(http({ url: process.argv[2] ?? '', token: 'secret' }));
const labels: string[] = [];
for await (const { label } of snapshotter.snapshots({ sandboxId: 'agent-42' })) labels.push(label);
const none = await snapshotter.get({ sandboxId: 'agent-42', label: 'none' }).catch((error: unknown) => error);
const refs = await new CloudflareSandboxSnapshotter(snapshotter, { sandboxId: 'agent-42' }).list({ limit: 1 });
const hasSchema = schema.operations.some(({ name }) => name === 'snapshot');
console.log(JSON.stringify({ labels, isNotFound: none instanceof NotFoundError, refs, hasSchema }));
`;

const TSCONFIG = {
  compilerOptions: {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    target: 'es2022',
    lib: ['es2022', 'dom'],
    types: [],
    module: 'nodenext',
    outDir: 'out',
  },
  include: ['app.ts'],
};

/** A fake snapshotter: `list` has two pages, and every other call fails with SNAPSHOT_NOT_FOUND. */
const server = createServer((request, response) => {
  let text = '';
  request.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  request.on('end', () => {
    const isList = request.url === '/v1/list';
    const { cursor } = JSON.parse(text);
    const row = (label: string) => ({ label, restorable: 'yes', ref: { providerId: 'x', ref: label } });
    const page =
      cursor === undefined ? { snapshots: [row('new')], cursor: 'next' } : { snapshots: [row('old')] };
    const body = isList ? page : problem('SNAPSHOT_NOT_FOUND', 'not_found');
    response.writeHead(isList ? 200 : 404, {
      'content-type': isList ? 'application/json' : 'application/problem+json',
    });
    response.end(JSON.stringify(body));
  });
});

test('the packed package can be installed, compiled with strict settings and run', async () => {
  const files = {
    'package.json': { private: true, type: 'module' },
    'app.ts': APPLICATION,
    'tsconfig.json': TSCONFIG,
  };
  await using project = await Project.create(tmpdir(), files);

  const destination = ['--json', '--silent', '--pack-destination', project.path];
  const packed = await project.run(process.execPath, [
    join(ROOT, 'scripts/run.mjs'),
    'pack',
    'client',
    ...destination,
  ]);
  assert.equal(packed.status, 0, packed.output);
  const [{ filename, files: contents }] = JSON.parse(packed.output.slice(packed.output.indexOf('[')));
  const paths: string[] = contents.map(({ path }: { path: string }) => path);
  const expected = /^(dist\/.*\.(js|d\.ts)|LICENSE|README\.md|package\.json|schema\.json)$/;
  assert.deepEqual(
    paths.filter((path) => !expected.test(path)),
    [],
  );

  const installed = await project.run('npm', [
    'install',
    '--offline',
    '--no-audit',
    '--no-fund',
    `./${filename}`,
  ]);
  assert.equal(installed.status, 0, installed.output);
  assert.equal((await project.compile()).output, '');

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const { output } = await project.run(process.execPath, ['out/app.js', `http://127.0.0.1:${port}`]);
  server.close();
  assert.deepEqual(JSON.parse(output), {
    labels: ['new', 'old'],
    isNotFound: true,
    refs: [{ providerId: 'x', ref: 'new' }],
    hasSchema: true,
  });
});
