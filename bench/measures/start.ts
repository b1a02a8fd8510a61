// The start of a Worker: the time until a new workerd process listeningPort, and the time of its first request.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { against, alternate, type Task } from '../measure.ts';
import { compare, type Outcome } from '../results.ts';
import { uploads, type Upload } from '../uploads.ts';

const WORKERD: string = createRequire(import.meta.url)('workerd').default;

/** Measures starts. Each sample is a new process with the modules that wrangler would upload, without bindings. */
export async function start({ runs, quick }: Task): Promise<Outcome> {
  const all = Object.entries(uploads(quick));
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  try {
    const configs = Object.fromEntries(
      all.map(([side, upload]) => [side, write(join(folder, side), upload)]),
    );
    const samples = await alternate(Object.keys(configs), runs, (side) => sample(configs[side]!));
    const others = {
      rust: 'empty Rust Worker',
      javascript: 'empty JavaScript Worker',
      typescript: 'TypeScript snapshotter',
    };
    const rows = Object.entries({ start: 'start until listening', first: 'first request' }).flatMap(
      ([what, name]) =>
        Object.entries(others)
          .filter(([side]) => side in configs)
          .map(([side, baseline]) =>
            compare(
              { measure: 'start', name, unit: 'ms', against: baseline, target: null },
              against(samples[what]!, 'ours', side),
            ),
          ),
    );
    return { rows };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Writes the modules of a Worker, and a configuration of workerd with only this Worker. Returns the path of the configuration. */
function write(prefix: string, { modules, compatibilityDate, compatibilityFlags }: Upload): string {
  const entries = [...modules]
    .sort(([a], [b]) => Number(b.endsWith('.js')) - Number(a.endsWith('.js')))
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

/** Starts workerd and requests `/healthz`. Returns the time until it listened and the time of the request, in milliseconds. */
async function sample(config: string): Promise<{ start: number; first: number }> {
  const began = performance.now();
  const child = spawn(WORKERD, ['serve', config, '--experimental', '--control-fd=3'], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  const ended = new Promise((resolve) => child.on('close', resolve));
  try {
    const port = await listeningPort(child.stdio[3] as NodeJS.ReadableStream);
    const listened = performance.now();
    const response = await fetch(`http://127.0.0.1:${port}/healthz`);
    await response.arrayBuffer();
    return { start: listened - began, first: performance.now() - listened };
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
}

/** Waits for workerd to listen, and returns its port. */
async function listeningPort(control: NodeJS.ReadableStream): Promise<number> {
  let text = '';
  for await (const chunk of control) {
    text += chunk;
    const port = /"event":"listen","socket":"http","port":(\d+)/.exec(text)?.[1];
    if (port) return Number(port);
  }
  throw new Error(`workerd ended before it listened: ${text}`);
}
