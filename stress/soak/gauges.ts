// The gauges that must not grow: memory, open files, processes, mounts, Durable Objects and objects in R2.

import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import { join } from 'node:path';

import type { Environment } from '../environment.ts';

/** The values of all gauges at one time. */
export interface Sample {
  /** Resident memory of workerd, in megabytes. */
  workerd: number;
  /** Resident memory of this process, in megabytes. */
  node: number;
  /** Open files, sockets and pipes of both. */
  handles: number;
  /** Durable Objects of the snapshotter that are in memory. */
  active: number;
  /** Processes children this one: workerd, the engine's containers and what runs in them. */
  processes: number;
  /** Mounts of the machine, as this process sees them. */
  mounts: number;
  /** Objects in R2. */
  objects: number;
  /** The mean size of the database of a Workspace object, in kilobytes. */
  ledger: number;
  /** The size of the databases of named workspaces and of their lists, in kilobytes. */
  names: number;
}

/** The path of an object's database, which is open while the object is in memory. */
const DATABASE = /\/do\/sandbox-snapshotter-\w+\/[0-9a-f]{64}\.sqlite$/;

/** Measures all gauges. */
export async function measure(environment: Environment): Promise<Sample> {
  globalThis.gc?.();
  const children = await descendants(process.pid);
  const workerd = children.filter(({ name }) => name === 'workerd').map(({ pid }) => pid);
  const open = (await Promise.all([process.pid, ...workerd].map(openFiles))).flat();
  const memory = await Promise.all(workerd.map(residentMegabytes));
  const ledgers = await databases(environment.folder, ['Workspace']);
  const names = await databases(environment.folder, ['NamedWorkspace', 'Directory']);
  return {
    workerd: sum(memory),
    node: await residentMegabytes(process.pid),
    handles: open.length,
    active: open.filter((target) => DATABASE.test(target)).length,
    processes: children.length,
    mounts: (await readFile('/proc/self/mounts', 'utf8')).split('\n').length,
    objects: (await environment.world.objects()).length,
    ledger: ledgers.size / Math.max(1, ledgers.count),
    names: names.size,
  };
}

interface Process {
  pid: number;
  parent: number;
  name: string;
}

async function descendants(root: number): Promise<Process[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const all = (await Promise.all(pids.map(processOf))).filter((process) => process !== undefined);
  const found: Process[] = [];
  for (let parents = [root]; parents.length > 0;) {
    const children = all.filter(({ parent }) => parents.includes(parent));
    found.push(...children);
    parents = children.map(({ pid }) => pid);
  }
  return found;
}

async function processOf(pid: string): Promise<Process | undefined> {
  // The process may have ended in the meantime.
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  const [, name = '', parent] = /^\d+ \((.*)\) \S (\d+)/.exec(text ?? '') ?? [];
  return parent === undefined ? undefined : { pid: Number(pid), parent: Number(parent), name };
}

/** Lists the open files, sockets and pipes of a process. */
async function openFiles(pid: number): Promise<string[]> {
  const folder = `/proc/${pid}/fd`;
  const names = await readdir(folder).catch(() => []);
  const targets = await Promise.all(names.map((name) => readlink(join(folder, name)).catch(() => undefined)));
  return targets.filter((target) => target !== undefined);
}

async function residentMegabytes(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) / 1024;
}

/** Measures the total size of the databases of all objects of these classes, in kilobytes, and counts them. */
async function databases(folder: string, classes: string[]): Promise<{ size: number; count: number }> {
  const total = { size: 0, count: 0 };
  for (const name of classes) {
    const databaseFolder = join(folder, 'do', `sandbox-snapshotter-${name}`);
    for (const file of await readdir(databaseFolder).catch(() => [])) {
      if (!/^[0-9a-f]{64}\.sqlite(-wal)?$/.test(file)) continue;
      total.size += (await stat(join(databaseFolder, file)).catch(() => ({ size: 0 }))).size / 1024;
      total.count += file.endsWith('-wal') ? 0 : 1;
    }
  }
  return total;
}

const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
