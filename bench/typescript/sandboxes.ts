// The calls to a sandbox.

import { getSandbox } from '@cloudflare/sandbox';

import { SnapshotterError } from './errors.ts';

/** The result of a probe of a container. */
export interface Probe {
  /** The age of its first process, in milliseconds. */
  ageMillis: number;
  /** The content of the directory. */
  content: 'full' | 'empty' | 'missing' | 'link' | 'other';
  /** Whether the container replaced another one. */
  isReplacement: boolean;
}

/** The resolution of a container's age, in milliseconds: the system counts in hundredths of a second. */
const RESOLUTION = 10;

/** The note in a container that replaced another one. */
const NOTE = '/run/typescript-snapshotter.replaced';

/** Returns a sandbox whose commands run outside of any shell session, so that they wait for no other command. */
export function sandboxOf(namespace: DurableObjectNamespace<any>, id: string) {
  return getSandbox(namespace, id, { enableDefaultSession: false });
}

type Sandbox = ReturnType<typeof sandboxOf>;

/** Asserts that a sandbox is running. Does not start it. */
export async function assertRunning(sandbox: Sandbox, id: string) {
  if ((await sandbox.getState()).status === 'healthy') return;
  throw new SnapshotterError(
    'SANDBOX_NOT_RUNNING',
    `The sandbox ${JSON.stringify(id)} is not running: its files are gone, and a snapshot would be empty.`,
    'Take snapshots while the sandbox is in use. To continue, restore an earlier snapshot.',
  );
}

/** Probes the container. */
export async function probe(sandbox: Sandbox, dir: string): Promise<Probe> {
  const { stdout } = await sandbox.exec(script(dir), { origin: 'internal', timeout: 10_000 });
  const [uptime, start, content, note] = stdout.trim().split(' ');
  const ageMillis = (Number(uptime) - Number(start) / 100) * 1000;
  if (Number.isNaN(ageMillis)) throw new SnapshotterError('INTERNAL', 'The probe failed.', 'Try again.');
  return { ageMillis, content: content as Probe['content'], isReplacement: note === '1' };
}

/** Verifies that the container is older than `since` and is not a replacement. Returns the probe. */
export async function verifyContainer(
  sandbox: Sandbox,
  id: string,
  dir: string,
  since: number,
): Promise<Probe> {
  for (let attempt = 0; attempt < 3; attempt++) {
    const probedAt = Date.now();
    const probed = await probe(sandbox, dir);
    if (probed.ageMillis >= Date.now() - since + RESOLUTION && !probed.isReplacement) return probed;
    if (probed.ageMillis < probedAt - since || probed.isReplacement) {
      await sandbox.exec(`: >${NOTE}`, { origin: 'internal' });
      break;
    }
  }
  throw new SnapshotterError(
    'SANDBOX_REPLACED',
    `The container of the sandbox ${JSON.stringify(id)} was replaced, and its files are gone.`,
    'Restore the newest snapshot, and continue in the new sandbox.',
  );
}

/** Asserts that a directory can be captured. */
export function assertCapturable(dir: string, { content }: Probe) {
  if (content === 'full' || content === 'empty') return;
  throw new SnapshotterError(
    'INVALID_DIRECTORY',
    content === 'missing'
      ? `The directory ${JSON.stringify(dir)} does not exist in the sandbox.`
      : `${JSON.stringify(dir)} is not a directory in the sandbox.`,
    'Pass the path of an existing directory, without symbolic links.',
  );
}

function script(dir: string): string {
  const quoted = `'${dir.replaceAll("'", String.raw`'\''`)}'`;
  return `d=${quoted}; read -r up _ </proc/uptime; read -r stat </proc/1/stat; set -- \${stat##*) }; start=\${20}
note=0; [ -e ${NOTE} ] && note=1
if [ ! -e "$d" ] && [ ! -L "$d" ]; then content=missing
elif [ ! -d "$d" ] || ! cd -P -- "$d"; then content=other
elif [ "$PWD" != "$d" ]; then content=link
elif [ -n "$(find . -maxdepth 0 -empty)" ]; then content=empty
else content=full; fi
echo "$up $start $content $note"`;
}
