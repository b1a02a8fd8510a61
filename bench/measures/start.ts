// How long it takes until a fresh workerd has answered its first request: what a Worker costs before it does anything.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { against, alternate, type Task } from '../measure.ts';
import { compare, type Outcome } from '../results.ts';
import { uploads, type Upload } from '../uploads.ts';

const WORKERD: string = createRequire(import.meta.url)('workerd').default;

/** Each sample is a process of its own, which has the modules that wrangler would upload, and no binding. */
export async function start({ runs, quick }: Task): Promise<Outcome> {
  const all = Object.entries(uploads(quick));
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  try {
    const configs = Object.fromEntries(
      all.map(([side, upload]) => [side, write(join(folder, side), upload)]),
    );
    const samples = await alternate(Object.keys(configs), runs, (side) => once(configs[side]!));
    const others = {
      rust: 'an empty Worker in Rust',
      javascript: 'an empty Worker in JavaScript',
      typescript: 'the snapshotter in TypeScript',
    };
    const rows = Object.entries({ start: 'until it listens', first: 'the first request then' }).flatMap(
      ([what, name]) =>
        Object.entries(others)
          .filter(([side]) => side in configs)
          .map(([side, against_]) =>
            compare(
              { measure: 'start', name, unit: 'ms', against: against_, target: null },
              against(samples[what]!, 'ours', side),
            ),
          ),
    );
    return { rows };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Writes a Worker's modules, and the configuration of a workerd that has nothing else. Answers its path. */
function write(prefix: string, { modules, compatibilityDate, compatibilityFlags }: Upload): string {
  const entries = [...modules]
    .sort(([one], [other]) => Number(other.endsWith('.js')) - Number(one.endsWith('.js')))
    .map(([name, content]) => {
      writeFileSync(`${prefix}-${name}`, content);
      const kind = name.endsWith('.wasm') ? 'wasm' : 'esModule';
      return `(name = "${name}", ${kind} = embed "${`${prefix}-${name}`.split('/').at(-1)}")`;
    });
  const flags = compatibilityFlags.map((flag) => `"${flag}"`).join(', ');
  const path = `${prefix}.capnp`;
  writeFileSync(
    path,
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = (
    modules = [${entries.join(', ')}],
    compatibilityDate = "${compatibilityDate}",
    compatibilityFlags = [${flags}],
  ))],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);`,
  );
  return path;
}

/** Starts workerd, and asks it for `/healthz`. Answers in milliseconds when it listened, and how long the answer took. */
async function once(config: string): Promise<{ start: number; first: number }> {
  const began = performance.now();
  const child = spawn(WORKERD, ['serve', config, '--experimental', '--control-fd=3'], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  const ended = new Promise((resolve) => child.on('close', resolve));
  try {
    const port = await listens(child.stdio[3] as NodeJS.ReadableStream);
    const listened = performance.now();
    const response = await fetch(`http://127.0.0.1:${port}/healthz`);
    await response.arrayBuffer();
    return { start: listened - began, first: performance.now() - listened };
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
}

/** The port, as soon as workerd says so. */
async function listens(control: NodeJS.ReadableStream): Promise<number> {
  let text = '';
  for await (const chunk of control) {
    text += chunk;
    const port = /"event":"listen","socket":"http","port":(\d+)/.exec(text)?.[1];
    if (port) return Number(port);
  }
  throw new Error(`workerd ended before it listened: ${text}`);
}
