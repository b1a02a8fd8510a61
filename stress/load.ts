// `node stress/load.ts [--callers 500] [--only <scenario>]`: a Worker under hundreds of concurrent callers. Prints one line for each
// scenario: latencies, the number of successful calls, the number of refusals by code, and the memory of workerd before, at its
// peak and after. Exits with a failure if an error is not an error of the snapshotter or is not retryable.

import { parseArgs } from 'node:util';

import { World } from '../miniflare-tests/world.ts';
import { callers, startCalls, type Caller, type Outcome } from './load-callers.ts';
import { memory, peakMemory } from './load-memory.ts';

/** The call of each caller, in a world with a sandbox `agent`, its snapshot `ref`, and a workspace `work`. */
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
  'alternating stops and starts': (call, number) =>
    call(number % 4 < 2 ? 'workspaces/stop' : 'workspaces/start', { name: 'work' }),
  'list of workspaces': (call) => call('workspaces/list', {}),
  'forks of one workspace': (call, number) =>
    call('workspaces/fork', { name: 'work', newName: `fork-${number}` }),
  'restores of one snapshot': (call, _, ref) => call('restore', { ref }),
  mixed: (call, number, ref) => {
    const calls = [
      () => call('snapshot', { sandboxId: 'agent' }),
      () => call('list', { sandboxId: 'agent' }),
      () => call('get', { ref }),
      () => call('lineage', { sandboxId: 'agent' }),
      () => call('checkpoints/list', { sandboxId: 'agent' }),
      () => call('workspaces/start', { name: 'work' }),
      () => call('workspaces/getByName', { name: 'work' }),
    ];
    return calls[number % calls.length]!();
  },
};

const { values } = parseArgs({
  options: { callers: { type: 'string', default: '500' }, only: { type: 'string' } },
});
const count = Number(values.callers);
const selected = Object.entries(SCENARIOS).filter(
  ([name]) => values.only === undefined || values.only === name,
);
if (!Number.isSafeInteger(count) || count < 1 || selected.length === 0) {
  console.error(
    `Usage: node stress/load.ts [--callers <number>] [--only <scenario>]\nScenarios: ${Object.keys(SCENARIOS).join(', ')}`,
  );
  process.exit(2);
}

for (const [name, scenario] of selected) {
  await using world = await World.start({ snapshotter: { port: 0 } });
  await world.exec('agent', 'echo kept > file');
  const ref = await world.snapshot('agent');
  await world.workspace('work').create();
  const many = await callers(world, count);
  const before = await memory();
  const calls = startCalls(many, (call, number) => scenario(call, number, ref));
  const peak = await peakMemory(calls.all);
  const outcomes = await calls.all;
  const after = await memory();
  console.log(
    `${name}: ${summary(outcomes)}; workerd ${before} MB before, ${peak} MB peak, ${after} MB after`,
  );
  const unexpected = outcomes.find(({ refusal }) => refusal !== undefined && !isRetryable(refusal));
  if (unexpected !== undefined) {
    console.error(unexpected.refusal);
    process.exitCode = 1;
  }
}

/** Summarizes the latencies and the outcomes of calls. */
function summary(outcomes: Outcome[]): string {
  const times = outcomes.map(({ ms }) => ms).sort((a, b) => a - b);
  const at = (part: number) => ((times[Math.floor(part * (times.length - 1))] ?? 0) / 1000).toFixed(1);
  const codes = Object.groupBy(outcomes, ({ refusal }) => refusal?.code ?? 'succeeded');
  const counts = Object.entries(codes).map(([code, group]) => `${group?.length} ${code}`);
  return `${outcomes.length} callers, p50 ${at(0.5)} s, p99 ${at(0.99)} s; ${counts.join(', ')}`;
}

/** Whether an error is an error of the snapshotter and is retryable. */
function isRetryable({
  code,
  remediation,
  correlationId,
  retryable,
}: NonNullable<Outcome['refusal']>): boolean {
  return [code, remediation, correlationId].every((text) => typeof text === 'string') && retryable;
}
