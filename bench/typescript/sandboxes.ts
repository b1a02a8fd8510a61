// What is asked of a sandbox.

import { getSandbox } from '@cloudflare/sandbox';

import { SnapshotterError } from './errors.ts';

/** What a look into a container tells. */
export interface Look {
  /** How long its first process has run, in milliseconds. */
  ageMillis: number;
  /** What the directory is. */
  place: 'full' | 'empty' | 'missing' | 'link' | 'other';
  /** Whether it took the place of another one unasked. */
  tookPlace: boolean;
}

/** How much older than it is a container may seem, in milliseconds: the system counts in hundredths of a second. */
const RESOLUTION = 10;

/** The note in a container that took the place of another one. */
const NOTE = '/run/typescript-snapshotter.took-place';

/** A sandbox, whose commands run outside of any session: they wait for no other command. */
export function sandboxOf(namespace: DurableObjectNamespace<any>, id: string) {
  return getSandbox(namespace, id, { enableDefaultSession: false });
}

type Sandbox = ReturnType<typeof sandboxOf>;

/** Makes sure that a sandbox is running. Starts nothing. */
export async function isUp(sandbox: Sandbox, id: string) {
  if ((await sandbox.getState()).status === 'healthy') return;
  throw new SnapshotterError(
    'SANDBOX_NOT_RUNNING',
    `The sandbox ${JSON.stringify(id)} is not running, so its files are gone and a snapshot would be empty.`,
    'Take snapshots while the sandbox is in use; restore an earlier one to go on.',
  );
}

/** Looks into the container. */
export async function look(sandbox: Sandbox, dir: string): Promise<Look> {
  const { stdout } = await sandbox.exec(script(dir), { origin: 'internal', timeout: 10_000 });
  const [uptime, start, place, note] = stdout.trim().split(' ');
  const ageMillis = (Number(uptime) - Number(start) / 100) * 1000;
  if (Number.isNaN(ageMillis)) throw new SnapshotterError('INTERNAL', 'The look failed.', 'Try again.');
  return { ageMillis, place: place as Look['place'], tookPlace: note === '1' };
}

/** Makes sure that the container was there before `since`, and was not in the place of another one. Answers what is in it. */
export async function isSame(sandbox: Sandbox, id: string, dir: string, since: number): Promise<Look> {
  for (let tries = 0; tries < 3; tries++) {
    const asked = Date.now();
    const seen = await look(sandbox, dir);
    if (seen.ageMillis >= Date.now() - since + RESOLUTION && !seen.tookPlace) return seen;
    if (seen.ageMillis < asked - since || seen.tookPlace) {
      await sandbox.exec(`: >${NOTE}`, { origin: 'internal' });
      break;
    }
  }
  throw new SnapshotterError(
    'SANDBOX_REPLACED',
    `The container of the sandbox ${JSON.stringify(id)} was replaced: the files that were in it are gone.`,
    'Restore the newest snapshot, and go on in the new sandbox.',
  );
}

/** Makes sure that a directory can be captured. */
export function canBeCaptured(dir: string, { place }: Look) {
  if (place === 'full' || place === 'empty') return;
  throw new SnapshotterError(
    'INVALID_DIRECTORY',
    `In the sandbox, ${JSON.stringify(dir)} is ${place === 'missing' ? 'not there' : 'not a directory'}.`,
    'Give the path of a directory that is there, without symbolic links in it.',
  );
}

function script(dir: string): string {
  const quoted = `'${dir.replaceAll("'", String.raw`'\''`)}'`;
  return `d=${quoted}; read -r up _ </proc/uptime; read -r stat </proc/1/stat; set -- \${stat##*) }; start=\${20}
note=0; [ -e ${NOTE} ] && note=1
if [ ! -e "$d" ] && [ ! -L "$d" ]; then place=missing
elif [ ! -d "$d" ] || ! cd -P -- "$d"; then place=other
elif [ "$PWD" != "$d" ]; then place=link
elif [ -n "$(find . -maxdepth 0 -empty)" ]; then place=empty
else place=full; fi
echo "$up $start $place $note"`;
}
