/** Captures and restores: archives that travel by `exec` between the container and the bucket. */
import { HashingReader, type Archive, type Backups, type Format, type Metadata } from './bucket.ts';
import { SandboxError, transferError, type SandboxErrorCode } from './errors.ts';
import { OTHER_CONTAINER, requireTool, type ContainerRun, type Tool } from './identity.ts';
import { decode, KILLED, limited, open, sh, TIMED_OUT, within } from './process.ts';
import { CAPTURE_SQUASHFS, CAPTURE_TAR, INCOMPLETE, NO_SPACE, restoring, UNPACK } from './scripts.ts';

/** The default time to live of a backup, in seconds. */
const DEFAULT_TTL_SECONDS = 3 * 24 * 3600;

/** The default time limit of a capture and of a restore, in milliseconds. */
const DEFAULT_TIMEOUT_MS = 3600_000;

const CREATE_FAILED = 'BACKUP_CREATE_FAILED';

/** The directories that can be captured, and restored. */
const ROOTS = ['/workspace', '/home', '/tmp', '/var/tmp', '/app'];

/** The container that a capture or a restore expects, and its time limit. */
export interface Expected {
  /** The id of the container. Without it: the one that runs, or a new one. */
  expectedContainer?: string;
  /** The `lastChange` of its state, which no other container of the sandbox has. */
  expectedLastChange?: number | undefined;
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
  /** Absent: `squashfs`, which sandboxes of the SDK 0.12 can restore, too. `tar+zstd/1`: a record of `DirectoryBackup`. */
  format?: Format;
  /** The size of the archive in bytes, of such a record. */
  size?: number;
  /** The SHA-256 of the archive, of such a record. */
  sha256?: string;
}

/** A container with the command runner of its object. */
export interface Target {
  container: Container;
  state: ContainerRun;
}

/** Stores the files of a directory as a backup: as squashfs where the image and the disk allow it, or as tar. */
export async function capture(
  target: Target,
  backups: Backups,
  options: BackupOptions,
): Promise<BackupHandle> {
  const { state } = target;
  if (!state.tools.includes('mksquashfs')) return store(target, backups, options);
  return store(target, backups, options, true).catch((thrown: Partial<SandboxError>) => {
    if (thrown.code === 'NO_SPACE') return store(target, backups, options);
    throw thrown;
  });
}

async function store(
  { container, state }: Target,
  backups: Backups,
  options: BackupOptions,
  squashfs?: boolean,
): Promise<BackupHandle> {
  const { dir, name, ttl = DEFAULT_TTL_SECONDS, excludes = [], compression = {}, gitignore } = options;
  const { timeout = DEFAULT_TIMEOUT_MS } = options;
  if (!(ttl > 0)) throw new SandboxError('INVALID_BACKUP_CONFIG', `ttl must be positive, got ${ttl}.`);
  if (gitignore) requireTool(state, 'git');
  requireTool(state, 'timeout');
  const { format, script, command } = archiver(state, compression, squashfs);
  const patterns = excludes.flatMap((pattern) => toPatterns(pattern, format === 'squashfs'));
  const argv = sh(script, state.id as string, dir, gitignore ? '1' : '0', ...command);

  return within(timeout, async (signal) => {
    const id = crypto.randomUUID();
    const stdin = new Blob(patterns.map((pattern) => `${pattern}\n`)).stream();
    const process = await open(container, limited(argv, timeout), { stdin });
    const stderr = new Response(process.stderr).text();
    const verify = async (size: number) => {
      check(await process.exitCode, await stderr, CREATE_FAILED, `${dir} can't be archived`);
      if (size === 0) throw new SandboxError(CREATE_FAILED, `The archive of ${dir} is empty.`);
    };
    const stdout = process.stdout as ReadableStream<Uint8Array>;
    const stored = await backups.putArchive(id, stdout, verify, signal);
    // The platform may print before.
    const [, tree = 0, entries = 1] = (/(\d+) ?(\d+)?\n$/.exec(await stderr) ?? []).map(Number);
    const own = format !== 'squashfs' && { format };
    const metadata: Metadata = {
      id,
      dir,
      name,
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
  archive: Archive,
  { dir, timeout = DEFAULT_TIMEOUT_MS }: BackupHandle & Expected,
): Promise<void> {
  const { sizeBytes, format = 'squashfs', treeBytes = sizeBytes } = archive;
  const tools =
    format === 'squashfs' ? (['unsquashfs'] as const) : (format.split(/[+/]/, 2) as ['tar', ...Tool[]]);
  requireTool(state, 'find', 'timeout', ...tools);
  const sizes = [sizeBytes, Math.ceil(treeBytes / 1024)].map(String);
  const argv = sh(restoring(UNPACK[tools[0]]), state.id as string, ...sizes, dir);
  await within(timeout, async (signal) => {
    const chunks = verified(await backups.getArchive(archive), archive, signal);
    const process = await open(container, limited(argv, timeout), { stdin: 'pipe' });
    const output = process.output();
    const stdin = process.stdin as WritableStream<Uint8Array>;
    const ended = new AbortController();
    let failure: unknown;
    (ReadableStream as any)
      .from(chunks)
      // A process whose input is aborted waits for more.
      .pipeTo(stdin, { preventAbort: true, signal: ended.signal })
      .catch((thrown: unknown) => {
        failure = thrown;
        return stdin.close();
      })
      .catch(() => {});
    // Does not wait for the pipe: a process that ends early reads no more.
    const { exitCode, stderr } = await output;
    ended.abort();
    if (exitCode === INCOMPLETE && failure) throw transferError(failure);
    check(exitCode, decode(stderr), 'BACKUP_RESTORE_FAILED', `${dir} can't be restored`);
  });
}

/** Throws unless a directory can be captured and restored. */
export function checkDirectory(dir: string): void {
  const valid = ROOTS.some((root) => `${dir}/`.startsWith(`${root}/`)) && !dir.split('/').includes('..');
  if (!valid)
    throw new SandboxError('INVALID_BACKUP_CONFIG', `dir must be in ${ROOTS.join(', ')}, got ${dir}.`);
}

/** Returns the archive format, its script and its command: squashfs, which the SDK 0.12 can restore, or tar, which needs no space. */
function archiver(
  state: ContainerRun,
  { format = 'lz4', threads }: NonNullable<BackupOptions['compression']>,
  squashfs?: boolean,
) {
  if (squashfs) {
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

/** Passes on the parts of an archive, and one more byte where they are complete and have the expected SHA-256. */
async function* verified(
  stream: ReadableStream<Uint8Array>,
  { id, sizeBytes, sha256 }: Archive,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const reader = new HashingReader();
  yield* reader.read(stream, signal);
  if (reader.bytes < sizeBytes)
    throw new SandboxError('BACKUP_TRANSFER', `The archive of ${id} ended early.`);
  const received = await reader.sha256();
  if (received !== (sha256 ?? received))
    throw new SandboxError('BACKUP_INTEGRITY', `The archive of ${id} has another SHA-256.`);
  yield new Uint8Array(1);
}

/** What the exit codes of the scripts mean. Without a code, the operation failed. */
const EXITS: Partial<Record<number, [code: SandboxErrorCode | '', reason: string]>> = {
  [KILLED]: ['', 'a process was killed.'], // Not by the end of the container: the caller checks that.
  [OTHER_CONTAINER]: ['OPERATION_INTERRUPTED', 'the container was replaced.'],
  [INCOMPLETE]: ['OPERATION_INTERRUPTED', 'another capture or restore began.'],
  [TIMED_OUT]: ['COMMAND_TIMEOUT', 'it did not end within its time limit.'],
};

/** Throws where a script failed. */
function check(exitCode: number, stderr: string, code: SandboxErrorCode, what: string): void {
  if (exitCode === 0) return;
  const other = exitCode === NO_SPACE ? 'NO_SPACE' : code;
  const [found, reason] = EXITS[exitCode] ?? [other, stderr.trim() || `exit code ${exitCode}`];
  throw new SandboxError(found || other, `${what}: ${reason}`);
}
