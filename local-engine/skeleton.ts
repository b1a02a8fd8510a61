/**
 * The directories, links and empty files that the private roots of all sandboxes have, so that a start copies them with one
 * command.
 */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

const DIRECTORIES = [
  ...['workspace', 'home', 'root', 'app', 'run', 'tmp', 'var/tmp', 'var/backups', 'proc'],
  ...['dev/pts', 'dev/shm', '.host'],
];
const FOR_ALL_USERS = ['tmp', 'var/tmp', 'dev/shm'];
const OF_THE_HOST = ['usr', 'etc', 'bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32', 'nix'];
const DEVICES = ['null', 'zero', 'full', 'random', 'urandom', 'tty', 'fuse'];
const LINKS = {
  ptmx: 'pts/ptmx',
  fd: '/proc/self/fd',
  stdin: '/proc/self/fd/0',
  stdout: '/proc/self/fd/1',
  stderr: '/proc/self/fd/2',
};

/**
 * Makes them in the folder of the engine: `skeleton`; `server` with what only sandboxes with a server have, from the code of
 * the server; and `resolv` with the path of a file to share. Runs no program: that takes a large process longer than all of this.
 */
export function makeSkeleton(folder: string, server: string): void {
  const umask = process.umask(0o022);
  try {
    makeRoot(join(folder, 'skeleton'));
    shareResolv(folder);
    makeTools(join(folder, 'server/opt/local-engine'), server);
  } finally {
    process.umask(umask);
  }
}

function makeRoot(root: string): void {
  for (const path of DIRECTORIES) mkdirSync(join(root, path), { recursive: true });
  for (const path of FOR_ALL_USERS) chmodSync(join(root, path), 0o1777);
  for (const path of OF_THE_HOST) {
    const stat = lstatSync(`/${path}`, { throwIfNoEntry: false });
    if (stat?.isSymbolicLink()) symlinkSync(readlinkSync(`/${path}`), join(root, path));
    else if (stat?.isDirectory()) mkdirSync(join(root, path));
  }
  for (const device of DEVICES) if (existsSync(`/dev/${device}`)) touch(join(root, 'dev', device));
  for (const [name, target] of Object.entries(LINKS)) symlinkSync(target, join(root, 'dev', name));
}

/** /etc/resolv.conf may be a link to a file elsewhere. */
function shareResolv(folder: string): void {
  const path = existsSync('/etc/resolv.conf') ? realpathSync('/etc/resolv.conf') : '/etc/resolv.conf';
  const isElsewhere = !path.startsWith('/etc/') && statSync(path).isFile();
  writeFileSync(join(folder, 'resolv'), isElsewhere ? `${path}\n` : '');
  if (!isElsewhere) return;
  const mountPoint = join(folder, 'skeleton', path);
  mkdirSync(dirname(mountPoint), { recursive: true });
  touch(mountPoint);
}

function makeTools(tools: string, server: string): void {
  mkdirSync(join(tools, 'io'), { recursive: true });
  touch(join(tools, 'node'));
  touch(join(tools, 'ca.pem'));
  writeFileSync(join(tools, 'server.cjs'), server);
}

function touch(path: string): void {
  writeFileSync(path, '');
}
