// `node stress/load.ts [--callers 500] [--only <scenario>]`: what a Worker does under hundreds of concurrent callers. One line for
// each scenario: how long calls took, how many were done, how many refused by which code, and the memory of workerd before, at its
// most, and after. Ends with a failure where an error is none of the snapshotter's, or does not say to try again.

import { parseArgs } from 'node:util';

import { World } from '../miniflare-tests/world.ts';
import { callers, crowd, type Caller, type Outcome } from './load-callers.ts';
import { highest, memory } from './load-memory.ts';

/** What all callers do at the same time, in a world with a sandbox `agent` that has a snapshot, and a workspace `work`. */
type Scenario = (call: Caller, number: number, ref: unknown) => Promise<unknown>;

const SCENARIOS: Record<string, Scenario> = {
  'the same snapshot': (call) => call('snapshot', { sandboxId: 'agent' }),
  'snapshots of one sandbox': (call, number) =>
    call('snapshot', { sandboxId: 'agent', label: `label ${number}` }),
  'large arguments': (call) =>
    call('snapshot', { sandboxId: 'agent', excludes: Array.from({ length: 60 }, () => 'x'.repeat(1000)) }),
  checkpoints: (call, number) => call('checkpoints/create', { sandboxId: 'agent', name: `c-${number}` }),
  'restores with one key': (call, _, ref) => call('restore', { ref, idempotencyKey: 'one' }),
  list: (call) => call('list', { sandboxId: 'agent' }),
  get: (call, _, ref) => call('get', { ref }),
  lineage: (call) => call('lineage', { sandboxId: 'agent' }),
  'many sandboxes': (call, number) => call('list', { sandboxId: `sandbox-${number}` }),
  'starts of one workspace': (call) => call('workspaces/start', { name: 'work' }),
  'stops and starts by turns': (call, number) =>
    call(number % 4 < 2 ? 'workspaces/stop' : 'workspaces/start', { name: 'work' }),
  'the workspaces of a tenant': (call) => call('workspaces/list', {}),
  'forks of one workspace': (call, number) =>
    call('workspaces/fork', { name: 'work', newName: `fork-${number}` }),
  'restores of one snapshot': (call, _, ref) => call('restore', { ref }),
  mixed: (call, number, ref) => {
    const of = [
      () => call('snapshot', { sandboxId: 'agent' }),
      () => call('list', { sandboxId: 'agent' }),
      () => call('get', { ref }),
      () => call('lineage', { sandboxId: 'agent' }),
      () => call('checkpoints/list', { sandboxId: 'agent' }),
      () => call('workspaces/start', { name: 'work' }),
      () => call('workspaces/getByName', { name: 'work' }),
    ];
    return of[number % of.length]!();
  },
};

const { values } = parseArgs({
  options: { callers: { type: 'string', default: '500' }, only: { type: 'string' } },
});
const count = Number(values.callers);
const chosen = Object.entries(SCENARIOS).filter(
  ([name]) => values.only === undefined || values.only === name,
);
if (!Number.isSafeInteger(count) || count < 1 || chosen.length === 0) {
  console.error(
    `node stress/load.ts [--callers <number>] [--only <scenario>], of ${Object.keys(SCENARIOS).join(', ')}`,
  );
  process.exit(2);
}

for (const [name, scenario] of chosen) {
  await using world = await World.start({ snapshotter: { port: 0 } });
  await world.exec('agent', 'echo kept > file');
  const ref = await world.snapshot('agent');
  await world.workspace('work').create();
  const many = await callers(world, count);
  const before = await memory();
  const calls = crowd(many, (call, number) => scenario(call, number, ref));
  const most = await highest(calls.all);
  const outcomes = await calls.all;
  const after = await memory();
  console.log(`${name}: ${told(outcomes)}; workerd ${before}, at most ${most}, then ${after} MB`);
  const wrong = outcomes.find(({ refusal }) => refusal !== undefined && !isLegible(refusal));
  if (wrong !== undefined) {
    console.error(wrong.refusal);
    process.exitCode = 1;
  }
}

/** Latencies, and what came of the calls. */
function told(outcomes: Outcome[]): string {
  const times = outcomes.map(({ ms }) => ms).sort((a, b) => a - b);
  const at = (part: number) => ((times[Math.floor(part * (times.length - 1))] ?? 0) / 1000).toFixed(1);
  const codes = Object.groupBy(outcomes, ({ refusal }) => refusal?.code ?? 'done');
  const counts = Object.entries(codes).map(([code, those]) => `${those?.length} ${code}`);
  return `${outcomes.length} callers, p50 ${at(0.5)} s, p99 ${at(0.99)} s; ${counts.join(', ')}`;
}

/** Whether an error is one of the snapshotter's, and says to try again. */
function isLegible({
  code,
  remediation,
  correlationId,
  retryable,
}: NonNullable<Outcome['refusal']>): boolean {
  return [code, remediation, correlationId].every((text) => typeof text === 'string') && retryable;
}
