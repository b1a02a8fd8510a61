/** The images of an engine: those that containers are named after, and the snapshots that `docker commit` makes. */
import { randomUUID } from 'node:crypto';
import { openSync, closeSync, rmSync, statSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ApiError } from './api-error.ts';
import type { Container } from './container.ts';
import { PATH } from './host.ts';

/** An image of Debian without a server. Every other image has the server of the published Sandbox class. */
const PLAIN = /^debian(:|$)/;

/** An image of Debian that lacks packages which Debian's base image does not contain. */
const SLIM = /^debian:slim/;

/** The programs that {@link SLIM} lacks. */
const EXTRA_PROGRAMS = ['git', 'mksquashfs', 'unsquashfs', 'zstd'];

/** An image that has a version of the SDK in `SANDBOX_VERSION`. Its server is the same. */
const OF_VERSION = /^local:(.+)/;

/** How workerd names snapshots. */
const SNAPSHOT = /^workerd-container-snap-/;

/** The mounts of the host in a container. Where they are writable, their changes are in `/.local-engine`. */
const MOUNTS = ['dev', 'proc', 'usr', 'etc', 'bin', 'sbin', 'lib*', 'nix', 'opt/local-engine'];

/**
 * What a snapshot omits, relative to the root: mounts, what overlays need while they are mounted, and `/run`, which production
 * does not keep. Files on other file systems are omitted in any case.
 */
const OMITTED = [...MOUNTS, '.local-engine/work', 'run'];

/** A snapshot that `docker commit` made. */
export interface StoredSnapshot {
  name: string;
  /** The id (hex) of the Durable Object whose container it was made of. */
  sandboxId: string;
}

/** An image, as a container uses it. */
export interface Image {
  /** Whether the container runs the server of the Sandbox class. */
  hasServer: boolean;
  /** The programs of the machine that the container does not have. */
  hidden: string[];
  /** The version of the SDK that it claims to have. Default: that of the server. */
  version?: string | undefined;
  /** The archive (tar) of the files of a snapshot. */
  archive?: string;
}

interface Snapshot extends Image, StoredSnapshot {
  id: string;
  archive: string;
  bytes: number;
}

/** The images of an engine. */
export class Images {
  readonly #folder: string;
  readonly #snapshots = new Map<string, Snapshot>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The snapshots, the oldest first. */
  get snapshots(): StoredSnapshot[] {
    return [...this.#snapshots.values()].map(({ name, sandboxId }) => ({ name, sandboxId }));
  }

  /** Returns an image. Throws if it is a snapshot that does not exist. */
  get(name: string): Image {
    const snapshot = this.#snapshots.get(withoutTag(name));
    if (snapshot) return snapshot;
    if (SNAPSHOT.test(name)) throw new ApiError(404, `No such image: ${name}`);
    const version = OF_VERSION.exec(name)?.[1];
    return { hasServer: !PLAIN.test(name), hidden: SLIM.test(name) ? EXTRA_PROGRAMS : [], version };
  }

  /** Returns the answer to `GET /images/NAME/json`. */
  describe(name: string): unknown {
    this.get(name);
    const { id = '0'.repeat(64), bytes = 0 } = this.#snapshots.get(withoutTag(name)) ?? {};
    return { Id: `sha256:${id}`, Parent: '', Size: bytes, RepoTags: [], Config: {} };
  }

  /** Stores the files of a running container as a snapshot. Returns its id. */
  async commit(container: Container, name: string): Promise<string> {
    const id = randomUUID().replaceAll('-', '').repeat(2);
    const archive = join(this.#folder, `${id}.tar`);
    const file = openSync(archive, 'w');
    try {
      const omitted = OMITTED.map((path) => `--exclude=./${path}`);
      const options = [
        '--one-file-system',
        '--xattrs',
        '--xattrs-include=*', // of overlays, too
        '--sparse',
        '--numeric-owner',
        '--anchored',
        ...omitted,
      ];
      const command = ['tar', ...options, '-C', '/', '-cf', '-', '.'];
      const child = spawn('nsenter', [...container.namespaces, ...command], {
        env: { PATH },
        stdio: ['ignore', file, 'ignore'],
      });
      const [code] = (await once(child, 'close')) as [number | null];
      // 1: a file changed while it was read, as in a container that runs on.
      if (code !== 0 && code !== 1) throw new ApiError(500, `The files of ${name} can't be read`);
    } finally {
      closeSync(file);
    }
    const { sandboxId, image } = container;
    const { hasServer, hidden } = image;
    const bytes = statSync(archive).size;
    this.#snapshots.set(name, { id, name, sandboxId, archive, bytes, hasServer, hidden });
    return id;
  }

  /** Deletes a snapshot, as the platform does at its expiration. */
  delete({ name }: StoredSnapshot): void {
    const snapshot = this.#snapshots.get(name);
    if (!snapshot) throw new Error(`The engine has no snapshot ${name}`);
    this.#snapshots.delete(name);
    rmSync(snapshot.archive);
  }
}

function withoutTag(name: string): string {
  return name.replace(/:[^/]*$/, '');
}
