// The class for containers: its size, and that it has no dependencies.

import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';

import { build } from 'esbuild';

const ENTRY = fileURLToPath(new URL('../src/container/index.ts', import.meta.url));

/** The largest size of the class in a Worker, in bytes of gzip. */
const MAX_BYTES = 8192;

test('the class, minified and compressed by gzip -9, has at most 8,192 bytes, and imports only the runtime', async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: [ENTRY],
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    external: ['cloudflare:*'],
    metafile: true,
    write: false,
  });
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports.map(({ path }) => path));
  assert.deepEqual(imports, ['cloudflare:workers']);
  const { byteLength } = gzipSync(outputFiles[0]!.contents, { level: 9 });
  assert.ok(byteLength <= MAX_BYTES, `${byteLength} bytes`);
});
