// `npm run demo`: an agent tries something risky in its sandbox, goes back, and explores two ways from there. It undoes a small
// change in place. Then it leaves a workspace that has a name, and comes back to it.

import { randomUUID } from 'node:crypto';

import { AGENT, SNAPSHOTTER, startLocal } from './local.ts';
import type { Attempt, Change, Output } from '../examples/agent/src/answers.ts';
import type { StoppedWorkspace } from '../client/src/index.ts';

const TOKEN = randomUUID();
const SHOW = 'for f in *; do echo "$f: $(cat "$f")"; done';

await using local = await startLocal({
  workers: [{ config: AGENT, vars: { AGENT_TOKEN: TOKEN } }, { config: SNAPSHOTTER }],
  onLog: report,
});

say('The agent works in its sandbox.');
show(await ask('run', `echo "print('hello')" >main.py; echo "requests==2.31" >requirements.txt; ${SHOW}`));

say('It tries something risky, which goes wrong, and goes back.');
const { output, wentBackTo } = await ask<Attempt>(
  'attempt',
  `echo "requests==9" >requirements.txt; rm main.py; ${SHOW}; false`,
);
show(output);
if (wentBackTo === undefined) throw new Error('The agent did not go back.');
show(await ask('run', SHOW));

say('From there it tries two ways at once, each in a sandbox of its own.');
const ways = [
  `echo "requests==2.32" >requirements.txt; ${SHOW}`,
  `echo "httpx==0.28" >requirements.txt; ${SHOW}`,
];
for (const branch of await ask<Output[]>('explore', ways)) show(branch);

say('Where it came from, nothing has changed.');
show(await ask('run', SHOW));

say('It changes something small in place, which goes wrong too, and undoes just that.');
const { undone } = await ask<Change>('change', `echo "requests==0" >>requirements.txt; false`);
if (!undone) throw new Error('The agent did not undo its change.');
for (const line of undone.trimEnd().split('\n')) console.log(`    ${line}`);
show(await ask('run', SHOW));

say('It works in a workspace that has a name, and leaves it: the sandbox ends.');
show(await ask('work', 'notebook', `echo 'to be continued' >ideas.txt; ${SHOW}`));
const { lastSnapshot } = await ask<StoppedWorkspace>('leave', 'notebook');
if (lastSnapshot === undefined) throw new Error('The workspace was left without a snapshot.');

say('It comes back, by the name: its work is there again.');
show(await ask('work', 'notebook', SHOW));

/** Asks the agent's Durable Object. */
async function ask<T = Output>(method: string, ...list: unknown[]): Promise<T> {
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  const init = { method: 'POST', headers, body: JSON.stringify(list) };
  const response = await local.miniflare.dispatchFetch(`http://agent/demo/${method}`, init);
  if (!response.ok) throw new Error(`${method}: ${await response.text()}`);
  return (await response.json()) as T;
}

function say(line: string) {
  console.log(`\n${line}`);
}

function show({ sandboxId, stdout }: Output) {
  console.log(`  ${sandboxId}`);
  for (const line of stdout.trimEnd().split('\n')) console.log(`    ${line}`);
}

/** Prints what the snapshotter logs of an operation. */
function report(line: string) {
  if (!line.startsWith('{"')) return;
  const { event, outcome, durationMs, snapshotId, sandboxId, originId, message, ...rest } = JSON.parse(line);
  if (event === 'workspace.transition') {
    console.log(`  · ${rest.name} is ${rest.to}: ${rest.cause}`);
  } else if (rest.state) {
    console.log(`  · ${event} ${rest.name}: ${durationMs} ms`);
  } else if (event?.startsWith('checkpoints/') && outcome === 'success') {
    console.log(`  · ${event}: ${durationMs} ms`);
  } else if (outcome === 'success') {
    const what = snapshotId ? `${snapshotId} of ${originId}` : `into ${sandboxId}`;
    console.log(`  · ${event} ${what}: ${durationMs} ms`);
  } else if (message && event) {
    console.log(`  · ${event} failed: ${message}`);
  }
}
