// How large the upload is, and what it consists of.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

import type { Task } from '../measure.ts';
import { exact, type Outcome } from '../results.ts';
import { uploads, type Upload } from '../uploads.ts';

/** The largest that the upload should be, in kB after gzip. */
const TARGET = 400;

const PAGES = fileURLToPath(new URL('../../build/pages.js', import.meta.url));

/** Sizes after gzip, which is what the platform's limit is about. */
export async function size({ quick }: Task): Promise<Outcome> {
  const { ours, rust, javascript, typescript } = uploads(quick);
  const [own, pages] = [parts(ours), kB(readFileSync(PAGES))];
  const others = {
    'an empty Worker in Rust': rust,
    'an empty Worker in JavaScript': javascript,
    'the snapshotter in TypeScript': typescript,
  };
  const about = { measure: 'size', unit: 'kB', against: '', baseline: null };
  return {
    rows: [
      exact({ ...about, name: 'the upload', ours: own.all, target: TARGET, of: 'ours' }),
      exact({ ...about, name: '… of that WebAssembly', ours: own.wasm, target: null }),
      exact({ ...about, name: '… of that pages', ours: pages, target: null }),
      exact({ ...about, name: '… of that glue and the SDK', ours: round(own.script - pages), target: null }),
      ...Object.entries(others)
        .filter(([, upload]) => upload !== undefined)
        .map(([name, upload]) => exact({ ...about, name, ours: parts(upload!).all, target: null })),
    ],
  };
}

function parts({ modules }: Upload) {
  const sum = (of: (name: string) => boolean) =>
    round([...modules].filter(([name]) => of(name)).reduce((all, [, content]) => all + kB(content), 0));
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
