// The modules of a Worker that wrangler would upload.

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { unstable_readConfig as readConfig } from 'wrangler';

import { bindgen } from '../scripts/bindgen.mjs';
import { environment, inTarget } from '../scripts/setup.mjs';
import { SNAPSHOTTER } from '../scripts/local.ts';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** An uploaded Worker. */
export interface Upload {
  name: string;
  compatibilityDate: string;
  compatibilityFlags: string[];
  /** The contents of its modules, by name: one script, and the WebAssembly that it imports. */
  modules: Map<string, Buffer>;
}

/** The uploads of the compared Workers. */
export type Uploads = Record<'ours' | 'javascript' | 'typescript', Upload> & { rust?: Upload };

const cache = new Map<boolean, Uploads>();

/** Returns the uploads. A quick run omits the empty Rust Worker, because its first build takes minutes. */
export function uploads(quick: boolean): Uploads {
  const cached = cache.get(quick);
  if (cached) return cached;
  if (!quick) buildEmptyRust();
  const all = {
    ours: upload(SNAPSHOTTER),
    ...(quick ? {} : { rust: upload(at('empty/rust/wrangler.toml')) }),
    javascript: upload(at('empty/javascript/wrangler.toml')),
    typescript: upload(at('typescript/wrangler.toml')),
  };
  cache.set(quick, all);
  return all;
}

/** Runs wrangler with the Worker's wrangler.toml, without its build command. */
function upload(config: string): Upload {
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  try {
    const text = readFileSync(config, 'utf8')
      .replace(/^\[build\]\n(?:(?!\[).*\n)*/m, '')
      .replace(
        /^main = "(.*)"$/m,
        (_, main: string) => `main = ${JSON.stringify(resolve(dirname(config), main))}`,
      )
      .replace(
        /^image = "(.*)"$/m,
        (_, path: string) => `image = ${JSON.stringify(resolve(dirname(config), path))}`,
      );
    writeFileSync(join(folder, 'wrangler.toml'), text);
    const out = join(folder, 'out');
    run('wrangler', [
      ...['deploy', '--dry-run', '--containers-rollout=none', '--config', join(folder, 'wrangler.toml')],
      ...['--outdir', out],
    ]);
    const names = readdirSync(out).filter((name) => /\.(js|wasm)$/.test(name));
    const {
      name = '',
      compatibility_date = '',
      compatibility_flags,
    } = readConfig({ config }, { hideWarnings: true });
    return {
      name,
      compatibilityDate: compatibility_date,
      compatibilityFlags: compatibility_flags,
      modules: new Map(names.map((name) => [name, readFileSync(join(out, name))])),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Builds the empty Rust Worker in the same way as scripts/build.mjs builds the snapshotter. */
function buildEmptyRust() {
  const target = 'wasm32-unknown-unknown';
  const std = ['-Z', 'build-std=std,panic_unwind', '-Z', 'build-std-features=optimize_for_size'];
  run(
    'cargo',
    [
      ...['build', '--release', '--lib', '--locked', '--quiet', '--target', target, ...std],
      ...['--manifest-path', at('empty/rust/Cargo.toml'), '--target-dir', inTarget()],
    ],
    {
      RUSTC_BOOTSTRAP: '1',
      CARGO_ENCODED_RUSTFLAGS: `-Cpanic=unwind\x1f--remap-path-prefix=${homedir()}=~`,
      WASM_BINDGEN_USE_JS_SYS: '1',
    },
  );
  const out = at('../build/empty-rust');
  mkdirSync(out, { recursive: true });
  bindgen(inTarget(target, 'release/empty_rust.wasm'), out);
  const wasm = join(out, 'index_bg.wasm');
  run('wasm-opt', ['-Oz', '--strip-debug', '--strip-producers', wasm, '-o', wasm]);
}

function run(command: string, list: string[], extra: Record<string, string> = {}) {
  const { status, stderr, error } = spawnSync(command, list, { env: environment(extra), encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} failed: ${error?.message ?? stderr}`);
}
