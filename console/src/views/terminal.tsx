// Runs commands in a running workspace, each with its output while it runs.

import { useEffect, useRef, useState } from 'preact/hooks';

import { SnapshotterError, type ExecExit } from '../../../client/src/index.ts';
import { CommandOutput } from '../command-output.ts';
import { refresh } from '../live.ts';
import { permits } from '../permissions.ts';
import type { Address } from '../routes.ts';
import { client } from '../session.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { Name } from '../ui/name.tsx';

/** The time limit of a command, in seconds. It can be cancelled before. */
const TIME_LIMIT = 3600;

/** The milliseconds from one rendering of an output to the next. */
const INTERVAL = 100;

/** A command, and what is known of it. */
interface Run {
  id: number;
  command: string;
  output: CommandOutput;
  exit?: ExecExit;
  failure?: unknown;
  isCancelled?: boolean;
  /** Where it begins, if not in the directory of the workspace. */
  cwd: string | undefined;
}

/** A field for a command, and the commands so far, newest first. A command ends when the page is left. */
export function Terminal({ address, onEnd }: { address: Address; onEnd: () => void }) {
  const [runs, setRuns] = useState<Run[]>([]);
  const [line, setLine] = useState('');
  const [recalled, setRecalled] = useState(0);
  const current = useRef<AbortController>(undefined);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => () => current.current?.abort(), []);
  if (!permits('exec')) return null;

  const isGone = isDirectoryGone(runs[0]?.failure);
  const run = async (command: string, cwd?: string) => {
    const abort = new AbortController();
    current.current = abort;
    const run: Run = { id: runs.length, command, output: new CommandOutput(), cwd };
    const show = () => setRuns((all) => [{ ...run }, ...all.filter(({ id }) => id !== run.id)]);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const showSoon = () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        show();
      }, INTERVAL);
    };
    setBusy(true);
    setLine('');
    setRecalled(0);
    show();
    try {
      run.exit = await follow(address, run, abort.signal, showSoon);
    } catch (thrown) {
      if (abort.signal.aborted) run.isCancelled = true;
      else {
        run.failure = thrown;
        setLine((typed) => typed || command);
      }
    }
    clearTimeout(timer);
    setBusy(false);
    show();
    // The next read of a file starts the workspace again. Until then, the page shows that the container has ended.
    if (isInterrupted(run.failure)) await refresh();
    onEnd();
  };
  const recall = (step: number) => {
    const to = Math.max(0, Math.min(runs.length, recalled + step));
    setRecalled(to);
    setLine(to === 0 ? '' : (runs[to - 1]?.command ?? ''));
  };
  return (
    <section class="terminal" aria-labelledby="terminal-title">
      <h2 id="terminal-title">Run a command</h2>
      <form
        class="row-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (!isBusy && line.trim() !== '') void run(line);
        }}
      >
        <input
          class="mono"
          aria-label="Command"
          placeholder="npm test"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          value={line}
          onInput={(event) => setLine(event.currentTarget.value)}
          onKeyDown={(event) => {
            const step = { ArrowUp: 1, ArrowDown: -1 }[event.key];
            if (step === undefined) return;
            event.preventDefault();
            recall(step);
          }}
        />
        {isBusy ? (
          <Button onClick={() => current.current?.abort()}>Cancel</Button>
        ) : (
          <Button variant="primary">Run</Button>
        )}
        {isGone && !isBusy && (
          <Button onClick={() => line.trim() !== '' && void run(line, '/')}>Run in /</Button>
        )}
      </form>
      <p class="hint">
        Each command has a shell of its own, which begins in the directory of the workspace. Leaving the page
        ends it.
        {isGone && ' A command in / can move the directory back, create it again, or unmount what hides it.'}
      </p>
      <ol class="runs">
        {runs.map((run) => (
          <RunView key={run.id} of={run} />
        ))}
      </ol>
    </section>
  );
}

/** Runs a command to its end. Adds its output to `run`, and calls `onOutput`. */
async function follow(
  address: Address,
  run: Run,
  signal: AbortSignal,
  onOutput: () => void,
): Promise<ExecExit> {
  const { command, output, cwd } = run;
  for await (const event of await client.execStream({
    ...address,
    command,
    ...(cwd !== undefined && { cwd }),
    timeoutSeconds: TIME_LIMIT,
    signal,
  })) {
    if (event.type === 'exit') {
      output.end();
      return event;
    }
    output.append(event.type, event.data);
    onOutput();
  }
  throw new Error('The stream has no end.'); // The client throws before.
}

function RunView({ of: { command, output, exit, failure, isCancelled } }: { of: Run }) {
  const isRunning = exit === undefined && failure === undefined && !isCancelled;
  return (
    <li>
      <p class="run-head">
        <code class="long">
          <Name of={command} />
        </code>
        {isRunning && (
          <Badge tone="busy" icon="time">
            running
          </Badge>
        )}
        {isCancelled && <Badge>cancelled</Badge>}
        {exit && (
          <Badge tone={exit.exitCode === 0 ? 'good' : 'bad'} icon={exit.exitCode === 0 ? 'check' : 'cross'}>
            {exit.timedOut ? 'timed out' : `exit ${exit.exitCode}`}
          </Badge>
        )}
        {exit && <span class="hint">{elapsed(exit.durationMs)}</span>}
      </p>
      {output.isCut && <p class="hint">The beginning of the output is left out.</p>}
      {output.parts.length > 0 && (
        <pre class="panel content" role="log" tabIndex={0} aria-label={`Output of ${command}`}>
          {output.parts.map(({ stream, text }, at) => (
            <span key={at} class={stream} title={stream === 'stderr' ? 'standard error' : undefined}>
              {text}
            </span>
          ))}
        </pre>
      )}
      <Failure of={failure} remediation={isInterrupted(failure) ? RUN_AGAIN : undefined} />
    </li>
  );
}

/** The remediation of a command that ended with its container. */
const RUN_AGAIN =
  'The command may have run in part, and changes that are in no snapshot may be lost. If a second run of the command does no harm, press Run again: the workspace is started first, with the files of its newest snapshot, if there is one.';

function isInterrupted(failure: unknown): boolean {
  return failure instanceof SnapshotterError && failure.code === 'OPERATION_INTERRUPTED';
}

function isDirectoryGone(failure: unknown): boolean {
  return failure instanceof SnapshotterError && failure.code === 'INVALID_DIRECTORY';
}

/** Formats how long a command ran: `31 ms`, `3.2 s`. */
function elapsed(millis: number): string {
  return millis < 1000 ? `${millis} ms` : `${(millis / 1000).toFixed(1)} s`;
}
