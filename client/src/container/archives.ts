/** Captures and restores: archives that travel by `exec` between the container and the bucket. */
import { Sha256, type Backups, type Format, type Metadata } from './bucket.ts';
import { SandboxError, type SandboxErrorCode } from './errors.ts';
import { OTHER_CONTAINER, requireTool, type ContainerRun, type Tool } from './identity.ts';
import { KILLED, limited, open, run, TIMED_OUT, within } from './process.ts';
import { CAPTURE_SQUASHFS, CAPTURE_TAR, NO_SPACE, RECEIVE, RESTORE, UNPACK, WORK_DIR } from './scripts.ts';

/** The default time to live of a backup, in seconds. */
const DEFAULT_TTL_SECONDS = 3 * 24 * 3600;

/** The default time limit of a capture and of a restore, in milliseconds. */
const DEFAULT_TIMEOUT_MS = 3600_000;

const CREATE_FAILED = 'BACKUP_CREATE_FAILED';

/** The time before its expiration at which a backup is not restored any more, in milliseconds. */
const TTL_MARGIN_MS = 60_000;

/** The directories that can be captured, and restored. */
const ROOTS = ['/workspace', '/home', '/tmp', '/var/tmp', '/app'];

/** The container that a capture or a restore expects, and its time limit. */
export interface Expected {
  /** The id of the container. Without it: the one that runs, or a new one. */
  expectedContainer?: string;
  /** The `lastChange` of its state, which no other container of the sandbox has. */
  expectedLastChange?: number;
  /** In milliseconds. Default: 3,600,000. */
  timeout?: number;
}

/** The options of `createBackup`. */
export interface BackupOptions extends Expected {
  /** The directory: in /workspace, /home, /tmp, /var/tmp or /app. */
  dir: string;
  /** A name, stored with the backup. */
  name?: string;
  /** Seconds for which the backup can be restored. Default: 259,200. */
  ttl?: number;
  /** Whether files that git ignores are excluded. */
  gitignore?: boolean;
  /** Names or paths to exclude, with `*`, `?` and `[]`. A pattern without a slash applies at every depth. */
  excludes?: string[];
  /** The compression of the archive. */
  compression?: { format?: 'gzip' | 'lz4' | 'zstd'; threads?: number };
}

/** The handle of a backup. */
export interface BackupHandle {
  id: string;
  dir: string;
  /** The archive is unpacked into the directory, and not mounted over it. */
  localBucket?: boolean;
  /** Absent: `squashfs`, which sandboxes of the SDK 0.12 can restore, too. */
  format?: Format;
}

/** A container with the command runner of its object. */
export interface Target {
  container: Container;
  state: ContainerRun;
}

/** Stores the files of a directory as a backup. */
export async function capture(
  { container, state }: Target,
  backups: Backups,
  options: BackupOptions,
): Promise<BackupHandle> {
  const { dir, name, ttl = DEFAULT_TTL_SECONDS, excludes = [], compression = {}, gitignore } = options;
  const { timeout = DEFAULT_TIMEOUT_MS } = options;
  checkDirectory(dir);
  if (!(ttl > 0)) throw new SandboxError('INVALID_BACKUP_CONFIG', `ttl must be positive, got ${ttl}.`);
  if (gitignore) requireTool(state, 'git');
  requireTool(state, 'timeout');
  const { format, script, command } = archiver(state, compression);
  const patterns = excludes.flatMap((pattern) => toPatterns(pattern, format === 'squashfs'));
  const argv = ['/bin/sh', '-c', script, 'sh', state.id as string, dir, gitignore ? '1' : '0', ...command];

  return within(timeout, async (signal) => {
    const id = crypto.randomUUID();
    const process = await open(container, limited(argv, timeout), { stdin: 'pipe', failure: CREATE_FAILED });
    const stderr = new Response(process.stderr).text();
    await feed(process, new Blob(patterns.map((pattern) => `${pattern}\n`)).stream());
    const verify = async (size: number) => {
      check(await process.exitCode, await stderr, CREATE_FAILED, `${dir} can't be archived`);
      if (size === 0) throw new SandboxError(CREATE_FAILED, `The archive of ${dir} is empty.`);
    };
    const stdout = process.stdout as ReadableStream<Uint8Array>;
    const stored = await backups.putArchive(id, stdout, verify, signal);
    const [tree = 0, entries = 1] = (await stderr).split(' ').map(Number);
    const own = format !== 'squashfs' && { format };
    const metadata: Metadata = {
      id,
      dir,
      name: name ?? null,
      ...stored,
      ttl,
      createdAt: new Date().toISOString(),
      treeBytes: tree * 1024,
      ...(own && { ...own, entries: entries - 1 }),
    };
    await backups.putMetadata(metadata, signal);
    return { id, dir, localBucket: true, ...own };
  });
}

/** Replaces a directory with the files of a backup. */
export async function restore(
  { container, state }: Target,
  backups: Backups,
  { dir, timeout = DEFAULT_TIMEOUT_MS }: BackupHandle & Expected,
  metadata: Metadata,
): Promise<void> {
  checkDirectory(dir);
  const { id, sizeBytes, sha256, format = 'squashfs', treeBytes = sizeBytes } = metadata;
  const [archiver, compressor] = format.split('+') as ['squashfs' | 'tar', Tool?];
  requireTool(state, archiver === 'tar' ? archiver : 'unsquashfs', 'find', 'timeout');
  if (compressor) requireTool(state, compressor);
  const expected = state.id as string;
  const kilobytes = (bytes: number) => String(Math.ceil(bytes / 1024));
  const archive = `${id}.${crypto.randomUUID()}`;
  const failed = 'BACKUP_RESTORE_FAILED';
  const until = Date.now() + timeout;

  await within(timeout, async (signal) => {
    const receive = ['/bin/sh', '-c', RECEIVE, 'sh', expected, archive, kilobytes(sizeBytes)];
    const stream = await backups.getArchive(metadata);
    const process = await open(container, limited(receive, timeout), { stdin: 'pipe', failure: failed });
    const output = process.output();
    const hash = new Sha256();
    const fed = await feed(process, stream, hash);
    const { exitCode, stderr } = await output;
    check(exitCode, new TextDecoder().decode(stderr), failed, "The archive can't be received");
    const received = await hash.end();
    const isPartial = fed !== sizeBytes;
    if (isPartial || received !== (sha256 ?? received)) {
      await run(container, ['rm', '-f', `${WORK_DIR}/${archive}`]);
      if (isPartial) throw new SandboxError('BACKUP_TRANSFER', `The archive of ${id} was received in part.`);
      throw new SandboxError('BACKUP_INTEGRITY', `The archive of ${id} has another SHA-256.`);
    }
    signal.throwIfAborted();
    const unpack = ['/bin/sh', '-c', UNPACK[archiver]];
    const argv = ['/bin/sh', '-c', RESTORE, 'sh', expected, archive, dir, kilobytes(treeBytes), ...unpack];
    const remaining = Math.max(1, until - Date.now());
    const restored = await run(container, argv, { failure: failed, timeout: remaining });
    check(restored.exitCode, restored.stderr, failed, `${dir} can't be restored`);
  });
}

/** Throws where a backup can't be restored any more. */
export function checkExpiration({ id, ttl, createdAt }: Metadata): void {
  if (Date.now() + TTL_MARGIN_MS <= Date.parse(createdAt) + ttl * 1000) return;
  throw new SandboxError('BACKUP_EXPIRED', `The backup ${id} has expired.`);
}

/** Throws unless a directory can be captured and restored. */
export function checkDirectory(dir: string): void {
  const valid =
    ROOTS.some((root) => dir === root || dir.startsWith(`${root}/`)) && !dir.split('/').includes('..');
  if (!valid)
    throw new SandboxError('INVALID_BACKUP_CONFIG', `dir must be in ${ROOTS.join(', ')}, got ${dir}.`);
}

/** Returns the archive format that an image supports, and its command: squashfs, which the SDK 0.12 can restore, or tar. */
function archiver(
  state: ContainerRun,
  { format = 'lz4', threads }: NonNullable<BackupOptions['compression']>,
) {
  if (state.tools.includes('mksquashfs')) {
    const command = ['-comp', format, ...(threads === undefined ? [] : ['-processors', String(threads)])];
    return { format: 'squashfs' as const, script: CAPTURE_SQUASHFS, command };
  }
  requireTool(state, 'tar');
  const compressor = (['zstd', 'gzip'] as const).find((tool) => state.tools.includes(tool));
  if (!compressor) return { format: 'tar' as const, script: CAPTURE_TAR, command: [] };
  const command = ['-I', compressor === 'zstd' ? 'zstd -q -T0 -1' : 'gzip -1'];
  return { format: `tar+${compressor}` as const, script: CAPTURE_TAR, command };
}

/** Returns the patterns of mksquashfs or tar for a pattern. With a slash, it applies to the directory; else at every depth. */
function toPatterns(pattern: string, squashfs: boolean): string[] {
  const plain = pattern
    .replace(/^(\*\*\/)+/, '')
    .replace(/(\/\*\*)+(?=\/)/g, '')
    .replace(/(\/\*\*)?\/*$/, '');
  if (plain === '' || plain === '**') return [];
  if (plain.includes('/')) return [squashfs ? plain.replace(/^\//, '') : `./${plain}`];
  return squashfs ? [plain, `... ${plain}`] : [plain];
}

/**
 * Writes a stream to the input of a process, and hashes it. Returns the number of bytes that it wrote: fewer where the
 * stream fails, or the process ends first.
 */
async function feed(
  process: ExecProcess,
  stream: ReadableStream<Uint8Array>,
  hash?: Sha256,
): Promise<number> {
  const writer = (process.stdin as WritableStream<Uint8Array>).getWriter();
  let bytes = 0;
  try {
    for await (const chunk of stream) {
      await hash?.add(chunk);
      await writer.write(chunk);
      bytes += chunk.byteLength;
    }
    await writer.close();
  } catch (thrown) {
    await writer.abort(thrown).catch(() => {});
  }
  return bytes;
}

/** What the exit codes of the scripts mean. The platform kills all processes of a container that ends. */
const EXITS: Partial<Record<number, [code: SandboxErrorCode, reason: string]>> = {
  [OTHER_CONTAINER]: ['OPERATION_INTERRUPTED', 'the container was replaced.'],
  [KILLED]: ['OPERATION_INTERRUPTED', 'the container ended.'],
  [TIMED_OUT]: ['COMMAND_TIMEOUT', 'it did not end within its time limit.'],
};

/** Throws where a script failed. */
function check(exitCode: number, stderr: string, code: SandboxErrorCode, what: string): void {
  if (exitCode === 0) return;
  const other = exitCode === NO_SPACE ? 'NO_SPACE' : code;
  const [found, reason] = EXITS[exitCode] ?? [other, stderr.trim() || `exit code ${exitCode}`];
  throw new SandboxError(found, `${what}: ${reason}`);
}
