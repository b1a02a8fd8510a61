// The class for containers: its size, and that it has no dependencies.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';

import { build } from 'esbuild';

/** Bundles and minifies a module as wrangler does. Returns its size in bytes of gzip, and the modules that it imports. */
async function measure(code: string): Promise<{ bytes: number; imports: string[] }> {
  const { outputFiles, metafile } = await build({
    stdin: { contents: code, resolveDir: fileURLToPath(new URL('../src/container', import.meta.url)) },
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    external: ['cloudflare:*'],
    metafile: true,
    write: false,
  });
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports.map(({ path }) => path));
  return { bytes: gzipSync(outputFiles[0]!.contents, { level: 9 }).byteLength, imports };
}

test('the class has the version of the package', async () => {
  const source = await readFile(new URL('../src/container/sandbox.ts', import.meta.url), 'utf8');
  const { version } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8'));
  assert.ok(source.includes(`CLASS_VERSION = '${version}'`));
});

const CLASS = `export * from './index.ts';`;
const FILES = `export * from './files.ts';`;

test('the class, minified and compressed by gzip -9, has at most 8,900 bytes, and imports only the runtime', async () => {
  const { bytes, imports } = await measure(CLASS);
  assert.deepEqual(imports, ['cloudflare:workers']);
  assert.ok(bytes <= 8900, `${bytes} bytes`);
});

test('the optional operations on files add at most 1,024 bytes', async () => {
  const [{ bytes }, all] = await Promise.all([measure(CLASS), measure(CLASS + FILES)]);
  assert.deepEqual(all.imports, ['cloudflare:workers']);
  assert.ok(all.bytes - bytes <= 1024, `${all.bytes - bytes} bytes`);
});
