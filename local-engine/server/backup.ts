/** The part `backup` of the API, as far as the local mode (`localBucket: true`) uses it: making archives. */
import { rm, stat, writeFile } from 'node:fs/promises';
import { SandboxError } from './errors.ts';
import { missing, type Api } from './rpc.ts';
import { run } from './run.ts';

interface ArchiveOptions {
  excludes?: string[];
  gitignore?: boolean;
  compression?: { format?: string; threads?: number };
}

/**
 * The files that git ignores below a directory, as patterns for mksquashfs. One string character per byte, since
 * names need not be text. What one line of an exclude file cannot hold is left out, and so stays in the archive.
 */
async function ignoredByGit(dir: string): Promise<string[]> {
  const git = (...args: string[]) => run('git', ['-c', 'safe.directory=*', '-C', dir, ...args]);
  const inside = await git('rev-parse', '--is-inside-work-tree');
  if (inside.stdout.toString().trim() !== 'true') return [];
  const { stdout } = await git('ls-files', '-z', '--others', '--ignored', '--exclude-standard', '--', '.');
  return stdout
    .toString('latin1')
    .split('\0')
    .filter((name) => name !== '' && !/[\0-\x1f\x7f]|^ | $|^\.\.\. /.test(name))
    .map((name) => name.replaceAll(/[\\*?[\]#]/g, String.raw`\$&`));
}

async function createArchive(
  dir: string,
  archivePath: string,
  _sessionId: string,
  options: ArchiveOptions = {},
) {
  const fail = (why: string): never => {
    throw new SandboxError('BACKUP_CREATE_FAILED', `Cannot archive ${dir}: ${why}`, { dir, archivePath });
  };
  const info = await stat(dir).catch(() => undefined);
  if (!info?.isDirectory()) fail('there is no such directory in the sandbox');

  const { format = 'lz4', threads = 8 } = options.compression ?? {};
  const patterns = [
    ...(options.gitignore ? await ignoredByGit(dir) : []),
    ...(options.excludes ?? []).map((pattern) => Buffer.from(pattern).toString('latin1')),
  ];
  const args = [dir, archivePath, '-comp', format, '-processors', String(threads)];
  args.push('-no-progress', '-noappend', '-exit-on-error');
  const excludeFile = `${archivePath}.exclude`;
  if (patterns.length > 0) {
    // As the SDK's server does: each of them applies at the top, and at any depth.
    const expanded = new Set(patterns.flatMap((pattern) => [pattern, `... ${pattern}`]));
    await writeFile(excludeFile, [...expanded].map((pattern) => `${pattern}\n`).join(''), 'latin1');
    args.push('-wildcards', '-ef', excludeFile);
  }
  const result = await run('mksquashfs', args, { cwd: '/' });
  await rm(excludeFile, { force: true });
  if (result.exitCode !== 0)
    fail(`mksquashfs: ${result.stderr.toString().trim() || result.stdout.toString().trim()}`);
  const { size } = await stat(archivePath);
  return { success: true, sizeBytes: size, archivePath };
}

/** The part `backup` of the API. */
export const backup: Api = {
  ...missing('backups through presigned URLs (use localBucket: true)', ['restoreArchive', 'uploadParts']),
  createArchive,
};
