// `npm run demo`: an agent runs a risky command in its sandbox, restores the files, and branches into two sandboxes. It reverts a
// change in place with a checkpoint. Then it stops a named workspace, starts it again, and promotes one of three forks.

import { randomUUID } from 'node:crypto';

import { startLocal } from './local.ts';
import { formatLogLine, isOfSnapshotter } from './log-lines.ts';
import { parseOptions } from './options.mjs';
import { exampleOf, runtimeOf } from './runtimes.ts';
import type { Attempt, Best, Change, Output } from '../examples/shared/answers.ts';
import type { StoppedWorkspace } from '../client/src/index.ts';

const { runtime } = parseOptions('demo', process.argv.slice(2));
const { agent, snapshotter, mode } = exampleOf(runtimeOf(runtime));
const TOKEN = randomUUID();
const PRINT_FILES = 'for f in *; do echo "$f: $(cat "$f")"; done';

await using local = await startLocal({
  workers: [{ ...agent, vars: { AGENT_TOKEN: TOKEN } }, snapshotter],
  onLog: printLogLine,
  mode,
});

printStep('The agent writes two files in its sandbox.');
printOutput(
  await callAgent(
    'run',
    `echo "print('hello')" >main.py; echo "requests==2.31" >requirements.txt; ${PRINT_FILES}`,
  ),
);

printStep('It runs a risky command, which fails, and restores the files in a new sandbox.');
const { output, restoredSandboxId } = await callAgent<Attempt>(
  'attempt',
  `echo "requests==9" >requirements.txt; rm main.py; ${PRINT_FILES}; false`,
);
printOutput(output);
if (restoredSandboxId === undefined) throw new Error('The agent did not restore its files.');
printOutput(await callAgent('run', PRINT_FILES));

printStep('It branches to try two alternatives at the same time, each in its own sandbox.');
const alternatives = [
  `echo "requests==2.32" >requirements.txt; ${PRINT_FILES}`,
  `echo "httpx==0.28" >requirements.txt; ${PRINT_FILES}`,
];
for (const branch of await callAgent<Output[]>('explore', alternatives)) printOutput(branch);

printStep('The sandbox that it branched from is unchanged.');
printOutput(await callAgent('run', PRINT_FILES));

printStep(
  'It changes a file in place. The command fails, and the agent reverts the change with a checkpoint.',
);
const { revertedDiff } = await callAgent<Change>('change', `echo "requests==0" >>requirements.txt; false`);
if (!revertedDiff) throw new Error('The agent did not revert its change.');
for (const line of revertedDiff.trimEnd().split('\n')) console.log(`    ${line}`);
printOutput(await callAgent('run', PRINT_FILES));

printStep('It works in a named workspace, and stops it: its files are saved, and its sandbox ends.');
printOutput(
  await callAgent('runInWorkspace', 'notebook', `echo 'to be continued' >ideas.txt; ${PRINT_FILES}`),
);
const { lastSnapshot } = await callAgent<StoppedWorkspace>('stopWorkspace', 'notebook');
if (lastSnapshot === undefined) throw new Error('The workspace was stopped without a snapshot.');

printStep('It starts the workspace by its name: the files are restored.');
printOutput(await callAgent('runInWorkspace', 'notebook', PRINT_FILES));

printStep('It tries three changes in forks of the workspace, and keeps the files of the one that succeeds.');
const { outputs } = await callAgent<Best>('keepBest', 'notebook', [
  "echo 'a poem' >>ideas.txt; false",
  "echo 'a novel' >>ideas.txt",
  "echo 'a list' >>ideas.txt; false",
]);
for (const { sandboxId, exitCode } of outputs) console.log(`  ${sandboxId}: exit status ${exitCode}`);
printOutput(await callAgent('runInWorkspace', 'notebook', PRINT_FILES));

printStep(
  `Next: \`npm run dev${runtime === undefined ? '' : ` -- --runtime ${runtime}`}\` serves this agent, the console and the API reference.`,
);

/** Calls a method of the agent over HTTP. */
async function callAgent<T = Output>(method: string, ...args: unknown[]): Promise<T> {
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  const init = { method: 'POST', headers, body: JSON.stringify(args) };
  const response = await local.miniflare.dispatchFetch(`http://agent/demo/${method}`, init);
  if (!response.ok) throw new Error(`${method}: ${await response.text()}`);
  return (await response.json()) as T;
}

function printStep(line: string) {
  console.log(`\n${line}`);
}

function printOutput({ sandboxId, stdout }: Output) {
  console.log(`  ${sandboxId}`);
  for (const line of stdout.trimEnd().split('\n')) console.log(`    ${line}`);
}

/** Prints a log line of the snapshotter. */
function printLogLine(line: string) {
  if (!isOfSnapshotter(line)) return;
  const formatted = formatLogLine(line);
  if (formatted !== undefined) console.log(formatted);
}
