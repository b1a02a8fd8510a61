/**
 * The local engine: runs the published `Sandbox` class, and classes over `ctx.container`, in workerd on Linux without
 * Docker.
 *
 *     workerd ── Docker API, Unix socket ──▶ docker-api.ts ──▶ container.ts ── spawns ──▶ enter.sh
 *        │                                                                                   │ private root
 *        └── CONNECT, TCP ──▶ tunnel.ts ── Unix socket ──▶ server/main.ts (in the sandbox) ◀─┘
 *                                                            └─ commands, files, backup, …: capnweb over WebSocket
 *
 * An image named `debian` has no server: workerd runs commands in it by exec-api.ts, and commits it by images.ts.
 *
 * A development tool: it separates sandboxes so that tests are meaningful. It does not protect against hostile code.
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
import type { StoredSnapshot } from './images.ts';
import { keptBundle } from './kept-bundles.ts';
import { startS3, type S3 } from './s3.ts';
import { makeSkeleton } from './skeleton.ts';

export { checkHost, keptBundle, startS3 };
export type { Call, S3, StoredSnapshot };

/** The options of an engine. */
export interface EngineOptions {
  /** The folder in which the engine makes its own folder, and removes it at its end. Default: the system's temporary folder. */
  stateDir?: string;
  /**
   * Runs before a container executes a call of the Sandbox class, which waits for it. May call {@link Engine.kill}. If it
   * throws, the call fails with that message.
   */
  onCall?: (call: Call) => void | Promise<void>;
  /** Whether the files of the sandboxes are on the disk of the host, and not in its memory. Default: false. */
  disk?: boolean;
  /** A certificate (PEM) that curl in the sandboxes trusts in addition to the public ones: that of {@link startS3}. */
  certificate?: string;
}

/** A running engine. */
export interface Engine extends AsyncDisposable {
  /** For Miniflare's `containerEngine`: `unix:///…`. */
  readonly address: string;
  /** Returns the ids (hex) of the Durable Objects whose container runs. */
  running(): string[];
  /** Kills the container of a Durable Object (its id, in hex), as a crash does. Resolves when the container has ended. */
  kill(sandboxId: string): Promise<void>;
  /** Returns the stored snapshots of `ctx.container.snapshotContainer`, the oldest first. */
  snapshots(): StoredSnapshot[];
  /** Deletes such a snapshot, as the platform does at its expiration. */
  deleteSnapshot(snapshot: StoredSnapshot): void;
  /** Ends all containers, and removes the files of the engine. */
  close(): Promise<void>;
}

/** The longest path of the folder: a Unix socket address, minus the part that a container appends to the folder. */
const MAX_FOLDER_LENGTH = 107 - '/12345678/io/s'.length;

/** The code of the server in containers, once this process has started an engine. */
let server: Promise<string> | undefined;

async function bundleServer(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, 'server', 'main.ts')],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    write: false,
    logLevel: 'error',
  });
  return outputFiles[0]?.text ?? '';
}

/** Starts an engine. It ends with this process, and so do its containers. */
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
  if (Buffer.byteLength(folder) > MAX_FOLDER_LENGTH) {
    cleanUp();
    throw new Error(`The path ${folder} is too long for Unix sockets: choose a shorter stateDir.`);
  }

  const { certificate, disk = false, onCall } = options;
  const hasCertificates = certificate !== undefined;
  if (hasCertificates) writeFileSync(join(folder, 'ca.pem'), [certificate, ...rootCertificates].join('\n'));
  makeSkeleton(folder, await (server ??= keptBundle('server', bundleServer)));
  const api = new DockerApi({ folder, unshare, hasCertificates, disk, onCall });
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
      await Promise.all(
        api.running().map((container) => (container.sandboxId === sandboxId ? container.kill() : undefined)),
      );
    },
    snapshots: () => api.images.snapshots,
    deleteSnapshot: (snapshot) => api.images.delete(snapshot),
    close,
    [Symbol.asyncDispose]: close,
  };
}
