/**
 * The local engine: runs the published `Sandbox` class in workerd on Linux without Docker.
 *
 *     workerd ── Docker API, Unix socket ──▶ docker-api.ts ──▶ container.ts ── spawns ──▶ enter.sh
 *        │                                                                                   │ private root
 *        └── CONNECT, TCP ──▶ tunnel.ts ── Unix socket ──▶ server/main.ts (in the sandbox) ◀─┘
 *                                                            └─ commands, files, backup, …: capnweb over WebSocket
 *
 * A development tool: it keeps sandboxes apart so that tests mean something, and is no defence against hostile code.
 */
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { build } from 'esbuild';
import type { Call } from './container.ts';
import { DockerApi } from './docker-api.ts';
import { checkHost, unshareOptions } from './host.ts';
import { startS3, type S3 } from './s3.ts';

export { checkHost, startS3 };
export type { Call, S3 };

/** How an engine is set up. */
export interface EngineOptions {
  /** Where the engine makes a folder for itself, which it removes at the end. Default: the system's temporary folder. */
  stateDir?: string;
  /**
   * Awaited before a container carries out a call of the Sandbox class. May call {@link Engine.kill}; when it throws,
   * the call fails with that message.
   */
  onCall?: (call: Call) => void | Promise<void>;
  /** A certificate (PEM) that curl in the sandboxes trusts beside the public ones: that of the {@link startS3} endpoint. */
  certificate?: string;
}

/** A running engine. */
export interface Engine extends AsyncDisposable {
  /** For Miniflare's `containerEngine`: `unix:///…`. */
  readonly address: string;
  /** The ids (hex) of the Durable Objects whose container runs. */
  running(): string[];
  /** Ends the container of a Durable Object (its id, in hex) as a crash would; resolves when it is gone. */
  kill(sandboxId: string): Promise<void>;
  /** Ends all containers and removes what the engine stored. */
  close(): Promise<void>;
}

/** The longest path that fits into the address of a Unix socket, less what a container appends to the folder. */
const LONGEST_FOLDER = 107 - '/12345678/io/s'.length;

/** Starts an engine. It ends, with all its containers, when this process does. */
export async function startEngine(options: EngineOptions = {}): Promise<Engine> {
  const missing = checkHost(options.certificate === undefined ? 'local' : 'production');
  const unshare = unshareOptions();
  if (!unshare || missing.length > 0) {
    throw new Error(`The local engine cannot run here.\n${missing.join('\n')}`);
  }

  const parent = options.stateDir ?? tmpdir();
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, 'engine-'));
  const cleanUp = () => rmSync(folder, { recursive: true, force: true });
  if (Buffer.byteLength(folder) > LONGEST_FOLDER) {
    cleanUp();
    throw new Error(`The path ${folder} is too long for Unix sockets: choose a shorter stateDir.`);
  }
  await build({
    entryPoints: [join(import.meta.dirname, 'server', 'main.ts')],
    outfile: join(folder, 'server.cjs'),
    bundle: true,
    platform: 'node',
    format: 'cjs',
    logLevel: 'error',
  });

  const { certificate, onCall } = options;
  const trusts = certificate !== undefined;
  if (trusts) writeFileSync(join(folder, 'ca.pem'), [certificate, ...rootCertificates].join('\n'));
  const api = new DockerApi({ folder, unshare, trusts, onCall });
  const socket = join(folder, 'docker.sock');
  api.server.listen(socket);
  await once(api.server, 'listening');

  process.once('exit', cleanUp);
  const close = async () => {
    await api.close();
    process.off('exit', cleanUp);
    cleanUp();
  };
  return {
    address: `unix://${socket}`,
    running: () => api.running().map(({ sandboxId }) => sandboxId),
    kill: async (sandboxId) => {
      await Promise.all(api.running().map((one) => (one.sandboxId === sandboxId ? one.kill() : undefined)));
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
