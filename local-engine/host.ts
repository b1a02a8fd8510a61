/** The requirements of the engine, and the namespaces that the kernel permits. */
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { accessSync, constants, existsSync } from 'node:fs';

/** The search path for programs, on the host and in a sandbox. */
export const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

const NAMESPACES = ['--mount', '--pid', '--fork', '--kill-child'];
const AS_USER = ['--user', '--map-root-user', ...NAMESPACES];

let permitted: string[] | undefined;

/** Returns the options of `unshare` that work here: root needs no user namespace, other users do. */
export function unshareOptions(): string[] | undefined {
  const works = (options: string[]) =>
    spawnSync('unshare', [...options, 'true'], { env: { PATH }, stdio: 'ignore' }).status === 0;
  return (permitted ??= [NAMESPACES, AS_USER].find(works));
}

const PROGRAMS: [program: string, debianPackage: string][] = [
  ['bash', 'bash'],
  ['git', 'git'],
  ['mksquashfs', 'squashfs-tools'],
  ['unshare', 'util-linux'],
  ['setpriv', 'util-linux'],
  ['mount', 'mount'],
  ['pivot_root', 'util-linux'],
  ['xargs', 'findutils'],
];

/** The additional programs of production mode. The Sandbox class and its server call the first three by these paths. */
const FOR_PRODUCTION: typeof PROGRAMS = [
  ['/usr/bin/squashfuse', 'squashfuse'],
  ['/usr/bin/fuse-overlayfs', 'fuse-overlayfs'],
  ['/usr/bin/fusermount3', 'fuse3'],
  ['curl', 'curl'],
  ['openssl', 'openssl'],
];

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns what this machine lacks for {@link startEngine} in a mode, with an instruction for each. Empty if it lacks nothing.
 */
export function checkHost(mode: 'local' | 'production' = 'local'): string[] {
  if (process.platform !== 'linux') {
    return [
      `The local engine needs Linux (this is ${process.platform}): use a Linux machine, a VM or WSL 2.`,
    ];
  }
  const programs = mode === 'production' ? [...PROGRAMS, ...FOR_PRODUCTION] : PROGRAMS;
  const missing = programs
    .filter(([program]) => !PATH.split(':').some((folder) => isExecutable(resolve(folder, program))))
    .map(
      ([program, name]) =>
        `${program} is not installed: install ${name} (Debian, Ubuntu: apt install ${name}).`,
    );
  // The Sandbox class calls unsquashfs by this path.
  if (!isExecutable('/usr/bin/unsquashfs')) {
    missing.push('/usr/bin/unsquashfs is missing: install squashfs-tools (apt install squashfs-tools).');
  }
  if (mode === 'production' && process.getuid?.() !== 0) {
    missing.push('Production mode needs root: run as root, or use local mode.');
  }
  if (mode === 'production' && !existsSync('/dev/fuse')) {
    missing.push(
      '/dev/fuse is missing: load the module fuse (in Docker: --device /dev/fuse), or use local mode.',
    );
  }
  if (missing.length === 0 && !unshareOptions()) {
    missing.push(
      'The kernel permits no namespaces for this user: run as root, or permit user namespaces ' +
        '(sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0; ' +
        'in Docker: --security-opt seccomp=unconfined --security-opt apparmor=unconfined).',
    );
  }
  return missing;
}
