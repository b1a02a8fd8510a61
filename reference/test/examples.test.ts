// The examples with curl and with the TypeScript client. miniflare-tests/cli/examples.test.ts has those of the command line.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';

import { at } from '../../scripts/setup.mjs';
import { allRoutes, isDownload, optionsOf } from '../src/document.ts';
import { examplesOf, type Example } from '../src/examples.ts';
import { FIRST_CALL } from '../src/first-call.ts';
import { DOCUMENT } from './document.ts';

const EXAMPLES = await examplesOf(DOCUMENT);
const OPERATIONS = allRoutes(DOCUMENT).filter(({ path }) => path.startsWith('/v1/'));

function example(id: string, language: Example['language']): string {
  return EXAMPLES[id]?.find((example) => example.language === language)?.code ?? '';
}

describe('an example with curl', () => {
  /** Returns the arguments that a shell passes to curl. */
  function argumentsOf(code: string): string[] {
    const script = `curl() { printf '%s\\0' "$@"; }\n${code}`;
    const env = { SNAPSHOTTER_ADDRESS: 'https://snapshots.example', SNAPSHOTTER_TOKEN: 'secret' };
    return execFileSync('sh', ['-c', script], { env, encoding: 'utf8' }).split('\0').slice(0, -1);
  }

  for (const place of OPERATIONS.filter(isDownload))
    test(`downloads the example of ${place.name}`, () => {
      const [fail, get, url, ...options] = argumentsOf(example(place.id, 'curl'));
      assert.deepEqual([fail, get, url], ['--fail', '--get', `https://snapshots.example${place.path}`]);
      assert.deepEqual(options.slice(0, 4), [
        '-H',
        'Authorization: Bearer secret',
        '--data-urlencode',
        'name=notebook',
      ]);
      assert.equal(options.at(-2), '-o');
    });

  for (const place of OPERATIONS.filter((each) => !isDownload(each)))
    test(`sends the example of ${place.name}`, () => {
      const [url, ...options] = argumentsOf(example(place.id, 'curl'));
      assert.equal(url, `https://snapshots.example${place.path}`);
      assert.deepEqual(options.slice(0, -1), [
        '-H',
        'Authorization: Bearer secret',
        '-H',
        'Content-Type: application/json',
        '-d',
      ]);
      assert.deepEqual(JSON.parse(options.at(-1) ?? ''), optionsOf(place)?.example);
    });

  test('sends a file as the body, with the options in the URL', () => {
    assert.deepEqual(argumentsOf(example('v1-files-write', 'curl-body')), [
      'https://snapshots.example/v1/files/write',
      '--url-query',
      'options={"path":"src/config.ts","name":"notebook"}',
      '-H',
      'Authorization: Bearer secret',
      '-H',
      'Content-Type: application/octet-stream',
      '--data-binary',
      '@config.ts',
    ]);
  });

  test('has the required options first, then those that select the snapshot', () => {
    const names = (id: string) => Object.keys(JSON.parse(argumentsOf(example(id, 'curl')).at(-1) ?? ''));
    assert.equal(names('v1-snapshot')[0], 'name');
    assert.deepEqual(names('v1-restore'), ['name', 'label']);
    assert.deepEqual(names('v1-checkpoints-create'), ['name', 'workspace', 'description']);
  });

  test('has one header on a line, and a body in several lines', () => {
    const lines = example('v1-setRetention', 'curl').split('\n');
    for (const line of lines) assert.ok(line.length <= 76 && line.split(' -H ').length <= 2, line);
    assert.ok(lines.includes('    "sandboxId": "agent-42"'), lines.join('\n'));
  });
});

test('the examples in TypeScript have the types of the client', () => {
  const folder = mkdtempSync(join(tmpdir(), 'examples-'));
  after(() => rmSync(folder, { recursive: true }));
  const client = JSON.stringify(at('client/src/index.ts'));
  const functions = OPERATIONS.map(
    ({ id }, index) => `async function example${index}() {\n${example(id, 'typescript')}\n}`,
  );
  const declaration = "declare const snapshotter: import('sandbox-snapshotter-client').SnapshotterClient;";
  writeFileSync(join(folder, 'operations.ts'), [declaration, ...functions, 'export {};'].join('\n'));
  const first = FIRST_CALL.find(({ language }) => language === 'typescript')?.code ?? '';
  writeFileSync(
    join(folder, 'first.ts'),
    `declare const process: { env: Record<string, string> };\n${first}`,
  );
  const compilerOptions = {
    lib: ['es2022', 'dom'],
    types: [],
    noUnusedLocals: false,
    paths: { 'sandbox-snapshotter-client': [JSON.parse(client)] },
  };
  const config = { extends: at('tsconfig.json'), compilerOptions, include: ['*.ts'], exclude: [] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  const { status, stdout } = spawnSync(at('node_modules/.bin/tsc'), ['--project', folder], {
    encoding: 'utf8',
  });
  assert.equal(status, 0, stdout);
  for (const { id, name } of OPERATIONS)
    assert.ok(example(id, 'typescript').includes('await snapshotter.'), name);
});
