/** The part `backup` of the API: creates archives, uploads them in parts, and mounts them. */
import { mkdtempSync, openAsBlob, rmSync, statSync } from 'node:fs';
import { open, rm, stat, writeFile } from 'node:fs/promises';
import { SandboxError } from './errors.ts';
import type { Api } from './rpc.ts';
import { run } from './run.ts';
import type { Sessions } from './sessions.ts';
import { quote } from './shell.ts';

const FUSERMOUNT = '/usr/bin/fusermount3';
const BACKUPS = '/var/backups';
const MOUNTS = `${BACKUPS}/mounts`;

interface ArchiveOptions {
  excludes?: string[];
  gitignore?: boolean;
  compression?: { format?: string; threads?: number };
}

/**
 * Returns the files below a directory that git ignores, as patterns for mksquashfs. A name that git quotes, or that
 * begins or ends with a blank, does not match its pattern and stays in the archive.
 */
async function ignoredByGit(dir: string): Promise<string[]> {
  const git = (...args: string[]) => run('git', ['-C', dir, '-c', 'core.quotePath=false', ...args]);
  const inside = await git('rev-parse', '--is-inside-work-tree');
  if (`${inside.stdout}`.trim() !== 'true') return [];
  const { stdout } = await git('ls-files', '--others', '-i', '--exclude-standard', '--', '.');
  return `${stdout}`
    .split('\n')
    .map((name) => name.trim().replaceAll(/[\\*?[\]]/g, String.raw`\$&`))
    .filter((name) => name !== '');
}

/** Removes `**` from a pattern, which mksquashfs does not support. Returns undefined if nothing remains. */
function normalized(pattern: string): string | undefined {
  const single = pattern
    .replace(/^(\*\*\/)+/, '')
    .replaceAll(/(\/\*\*)+(?=\/)/g, '')
    .replace(/\/\*\*$/, '');
  return single === '' || single === '**' ? undefined : single;
}

async function createArchive(
  dir: string,
  archivePath: string,
  _sessionId: string,
  options: ArchiveOptions = {},
) {
  const fail = (reason: string): never => {
    throw new SandboxError('BACKUP_CREATE_FAILED', `Cannot archive ${dir}: ${reason}`, { dir, archivePath });
  };
  const info = await stat(dir).catch(() => undefined);
  if (!info?.isDirectory()) fail('there is no such directory in the sandbox');

  const { format = 'lz4', threads = 8 } = options.compression ?? {};
  const excluded = [
    ...(options.gitignore ? await ignoredByGit(dir) : []),
    ...(options.excludes ?? []).flatMap((pattern) => normalized(pattern) ?? []),
  ];
  // With dots, a pattern applies at every depth. A pattern with a slash then excludes the whole of its first directory, as
  // with the published container server.
  const patterns = new Set(excluded.flatMap((pattern) => [pattern, `... ${pattern}`]));
  const args = [dir, archivePath, '-comp', format, '-processors', String(threads)];
  args.push('-no-progress', '-noappend');
  const excludeFile = `${archivePath}.exclude`;
  if (patterns.size > 0) {
    await writeFile(excludeFile, [...patterns].map((pattern) => `${pattern}\n`).join(''));
    args.push('-wildcards', '-ef', excludeFile);
  }
  const result = await run('mksquashfs', args, { cwd: '/' });
  await rm(excludeFile, { force: true });
  if (result.exitCode !== 0)
    fail(`mksquashfs: ${result.stderr.toString().trim() || result.stdout.toString().trim()}`);
  const { size } = await stat(archivePath);
  return { success: true, sizeBytes: size, archivePath };
}

/** A part of an archive, and its signed URL. */
interface Part {
  partNumber: number;
  url: string;
  offset: number;
  size: number;
}

/** The number of attempts to upload a part. */
const ATTEMPTS = 3;

/** Uploads parts of an archive to signed URLs, all at the same time. */
async function uploadParts({ archivePath, parts }: { archivePath: string; parts: Part[] }) {
  const fail = (reason: string): never => {
    throw new SandboxError('BACKUP_CREATE_FAILED', `Multipart upload failed: ${reason}`, { archivePath });
  };
  const archive = await openAsBlob(archivePath);
  const upload = async (part: Part, attempt = 1): Promise<{ partNumber: number; etag: string }> => {
    const { partNumber, url, offset, size } = part;
    const headers = { 'Content-Type': 'application/octet-stream' };
    const body = archive.slice(offset, offset + size);
    const answer = await fetch(url, { method: 'PUT', headers, body }).catch((error: Error) => error);
    if (answer instanceof Response && answer.ok) {
      return { partNumber, etag: answer.headers.get('etag') ?? fail(`part ${partNumber} has no ETag`) };
    }
    if (attempt < ATTEMPTS) return upload(part, attempt + 1);
    return fail(
      `part ${partNumber}: ${answer instanceof Response ? `HTTP ${answer.status}` : answer.message}`,
    );
  };
  return { success: true, parts: await Promise.all(parts.map((part) => upload(part))) };
}

/**
 * Allocates inode numbers until new files have higher ones than those in an archive, which squashfuse counts from 1.
 * fuse-overlayfs exposes the numbers of both layers. If both contain a number, `find` reports directory loops, and other
 * tools treat two files as one. The inode numbers of most disks are higher already; those of a tmpfs are not.
 */
async function skipInodeNumbers(archivePath: string): Promise<void> {
  const archive = await open(archivePath);
  const { buffer } = await archive.read(Buffer.alloc(8), 0, 8, 0).finally(() => archive.close());
  if (buffer.toString('latin1', 0, 4) !== 'hsqs') return; // Not an archive. squashfuse reports that.
  const count = buffer.readUInt32LE(4);
  const used = mkdtempSync(`${BACKUPS}/used-`);
  while (statSync(mkdtempSync(`${used}/`)).ino <= count);
  rmSync(used, { recursive: true });
}

/**
 * Mounts an archive on a directory, with the commands that the published container server runs in the session:
 * squashfuse mounts the archive, and fuse-overlayfs adds a writable layer.
 */
async function restoreArchive(sessions: Sessions, dir: string, archivePath: string, sessionId: string) {
  const inSession = (command: string) => sessions.execute(command, sessionId);
  const runStep = async (step: string, command: string) => {
    const { exitCode, stderr } = await inSession(command);
    if (exitCode === 0) return;
    throw new SandboxError('BACKUP_RESTORE_FAILED', `Failed to ${step}: ${stderr}`, { dir, archivePath });
  };
  const backupId = archivePath.slice(`${BACKUPS}/`.length).replace(/\.sqsh$/, '');
  const mounts = quote(`${MOUNTS}/${backupId}`);
  const base = `${MOUNTS}/${backupId}_${Date.now()}_${Math.random().toString(36).slice(2, 8)}`;
  const [lower, upper, work, target] = [`${base}/lower`, `${base}/upper`, `${base}/work`, dir].map(quote);

  await runStep('find the archive', `test -f ${quote(archivePath)}`);
  await inSession(`${FUSERMOUNT} -u ${target} 2>/dev/null; ${FUSERMOUNT} -uz ${target} 2>/dev/null; true`);
  await inSession(
    `for d in ${mounts}_*/lower ${mounts}/lower; do [ -d "$d" ] && ${FUSERMOUNT} -u "$d" 2>/dev/null; ` +
      `${FUSERMOUNT} -uz "$d" 2>/dev/null; done; true`,
  );
  await inSession(`rm -rf ${mounts}_* ${mounts} 2>/dev/null; true`);
  await skipInodeNumbers(archivePath);
  await runStep('create mount directories', `mkdir -p ${lower} ${upper} ${work} ${target}`);
  await runStep('mount squashfs', `/usr/bin/squashfuse ${quote(archivePath)} ${lower}`);
  try {
    const layers = `lowerdir=${lower},upperdir=${upper},workdir=${work}`;
    await runStep('mount overlayfs', `/usr/bin/fuse-overlayfs -o ${layers} ${target}`);
  } catch (error) {
    await inSession(`${FUSERMOUNT} -u ${lower} 2>/dev/null || true`);
    throw error;
  }
  return { success: true, dir };
}

/** The part `backup` of the API. */
export function backup(sessions: Sessions): Api {
  return {
    createArchive,
    uploadParts,
    restoreArchive: (dir: string, archivePath: string, sessionId: string) =>
      restoreArchive(sessions, dir, archivePath, sessionId),
  };
}
