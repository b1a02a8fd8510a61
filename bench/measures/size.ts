// The size of the upload and of its parts.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

import type { Task } from '../measure.ts';
import { exact, type Outcome } from '../results.ts';
import { uploads, type Upload } from '../uploads.ts';

/** The target: the maximum size of the upload, in kB after gzip. */
const TARGET = 400;

const PAGES = fileURLToPath(new URL('../../build/pages.js', import.meta.url));

/** Measures sizes after gzip, which the limit of the platform applies to. */
export async function size({ quick }: Task): Promise<Outcome> {
  const { ours, rust, javascript, typescript } = uploads(quick);
  const [own, pages] = [parts(ours), kB(readFileSync(PAGES))];
  const others = {
    'empty Rust Worker': rust,
    'empty JavaScript Worker': javascript,
    'TypeScript snapshotter': typescript,
  };
  const about = { measure: 'size', unit: 'kB', against: '', baseline: null };
  return {
    rows: [
      exact({ ...about, name: 'upload', ours: own.all, target: TARGET, of: 'ours' }),
      exact({ ...about, name: 'upload: WebAssembly', ours: own.wasm, target: null }),
      exact({ ...about, name: 'upload: pages', ours: pages, target: null }),
      exact({
        ...about,
        name: 'upload: JavaScript glue and SDK',
        ours: round(own.script - pages),
        target: null,
      }),
      ...Object.entries(others)
        .filter(([, upload]) => upload !== undefined)
        .map(([name, upload]) => exact({ ...about, name, ours: parts(upload!).all, target: null })),
    ],
  };
}

function parts({ modules }: Upload) {
  const sum = (matches: (name: string) => boolean) =>
    round(
      [...modules].filter(([name]) => matches(name)).reduce((total, [, content]) => total + kB(content), 0),
    );
  return {
    all: sum(() => true),
    wasm: sum((name) => name.endsWith('.wasm')),
    script: sum((name) => name.endsWith('.js')),
  };
}

function kB(content: Buffer): number {
  return gzipSync(content, { level: 9 }).length / 1000;
}

function round(number: number): number {
  return Math.round(number * 10) / 10;
}
