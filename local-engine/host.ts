/** What the engine needs of the machine, and which namespaces the kernel lets it make. */
import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';

/** Where programs are looked for, on the host and in a sandbox. */
export const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

const NAMESPACES = ['--mount', '--pid', '--fork', '--kill-child'];
const AS_USER = ['--user', '--map-root-user', ...NAMESPACES];

/** The options with which `unshare` works here: root needs no user namespace, others do. */
export function unshareOptions(): string[] | undefined {
  const works = (options: string[]) =>
    spawnSync('unshare', [...options, 'true'], { env: { PATH }, stdio: 'ignore' }).status === 0;
  return [NAMESPACES, AS_USER].find(works);
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

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** What this machine lacks for {@link startEngine}, as sentences that say what to do. Empty when all is there. */
export function checkHost(): string[] {
  if (process.platform !== 'linux') {
    return [
      `The local engine needs Linux (this is ${process.platform}): use a Linux machine, a VM or WSL 2.`,
    ];
  }
  const missing = PROGRAMS.filter(
    ([program]) => !PATH.split(':').some((folder) => isExecutable(`${folder}/${program}`)),
  ).map(
    ([program, name]) =>
      `${program} is not installed: install ${name} (Debian, Ubuntu: apt install ${name}).`,
  );
  // The Sandbox class itself calls unsquashfs by this path.
  if (!isExecutable('/usr/bin/unsquashfs')) {
    missing.push('/usr/bin/unsquashfs is missing: install squashfs-tools (apt install squashfs-tools).');
  }
  if (missing.length === 0 && !unshareOptions()) {
    missing.push(
      'The kernel allows no namespaces to this user: run as root, or allow user namespaces ' +
        '(sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0; ' +
        'in Docker: --security-opt seccomp=unconfined --security-opt apparmor=unconfined).',
    );
  }
  return missing;
}
