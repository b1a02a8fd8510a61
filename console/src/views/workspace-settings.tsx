// The settings and the history of a named workspace.

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

import type { Autosave, Hook, Transition, Workspace } from '../../../client/src/index.ts';
import { exactDuration } from '../format.ts';
import { href } from '../routes.ts';
import { StateBadge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Fact, Facts, Moment, Time } from '../ui/facts.tsx';
import { Name } from '../ui/name.tsx';
import { Shortened } from '../ui/shortened.tsx';
import { ChangeSettings } from './change-settings.tsx';
import { sentences } from './policy.ts';
import { PastLoss } from './possible-loss.tsx';

/** Seconds after which an idle workspace stops, if its settings do not say so. */
const DEFAULT_IDLE = 600;

const HOOKS = {
  afterStart: 'After a start',
  beforeStop: 'Before a stop',
  onTimeout: 'At a time limit',
} as const;

/** The settings and the history, collapsed. `children` are facts before them. */
export function SettingsAndHistory({ of, children }: { of: Workspace; children?: ComponentChildren }) {
  const { idleSeconds = DEFAULT_IDLE, maxSeconds = 0 } = of.expiry;
  const { files = [], fingerprint, onMismatch = 'fail', onImageChange = 'report' } = of.dependsOn;
  const [isChanging, setChanging] = useState(false);
  const limit = (seconds: number, since: string) =>
    seconds === 0 ? 'never' : `${exactDuration(seconds)} after ${since}`;
  return (
    <details class="more">
      <summary>{children ? 'Details, settings and history' : 'Settings and history'}</summary>
      {children}
      <Facts>
        <Fact name="Runtime">{of.runtime}</Fact>
        <Fact name="Created">
          <Moment at={of.createdAt} />
        </Fact>
        <Fact name="Last started">
          <Moment at={of.startedAt} />
        </Fact>
        <Fact name="Stops when idle">{limit(idleSeconds, 'the last activity')}</Fact>
        <Fact name="Stops in any case">{limit(maxSeconds, 'the last start')}</Fact>
        <Fact name="Saves automatically">{autosave(of.autosave)}</Fact>
        <Fact name="Retention">
          <ul class="sentences">
            {sentences(of.retention).map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
          </ul>
        </Fact>
        <Fact name="Incremental snapshots">
          {of.incremental !== undefined && (of.incremental ? 'on' : 'off')}
        </Fact>
        <Fact name="Image">{of.image ?? (of.runtime === 'container' && 'the default of the class')}</Fact>
        <Fact name="Environment">{of.envNames.length > 0 && <Codes of={of.envNames} />}</Fact>
        {Object.entries(HOOKS).map(([name, title]) => (
          <HookFact key={name} name={title} of={of.hooks[name as keyof typeof HOOKS]} />
        ))}
        <Fact name="Depends on files">{files.length > 0 && <Codes of={files} />}</Fact>
        <Fact name="Fingerprint">{fingerprint && <code class="long">{fingerprint}</code>}</Fact>
        <Fact name="If they differ">{(files.length > 0 || fingerprint) && EFFECTS[onMismatch]}</Fact>
        <Fact name="If the image differs">{EFFECTS[onImageChange]}</Fact>
        <Fact name="Former sandboxes">
          {of.formerSandboxIds.length > 0 && (
            <ul class="plain">
              {of.formerSandboxIds.map((sandboxId) => (
                <li key={sandboxId}>
                  <a class="mono" href={href({ at: 'sandbox', sandboxId })}>
                    <Name of={sandboxId} />
                  </a>
                </li>
              ))}
            </ul>
          )}
        </Fact>
      </Facts>
      <div class="buttons">
        <Button needs="workspaces/update" onClick={() => setChanging(true)}>
          Change settings…
        </Button>
      </div>
      {isChanging && <ChangeSettings of={of} onClose={() => setChanging(false)} />}
      <p class="kind" id="history">
        History
      </p>
      <PastLoss of={of} />
      <ol class="history" aria-labelledby="history">
        <Shortened of={of.history} keyOf={({ cause }) => cause.replaceAll(SNAPSHOT_ID, '')} rest={earlier}>
          {({ to, at, cause }) => (
            <>
              <StateBadge state={to} containerEnded={false} /> <Cause of={of} text={cause} /> <Time at={at} />
            </>
          )}
        </Shortened>
      </ol>
    </details>
  );
}

/** Describes when the files are saved automatically; undefined if they are not. */
export function autosaveTimes({
  everySeconds = 0,
  onlyIfChanged = true,
  afterTurn = false,
}: Autosave): string | undefined {
  const times = [everySeconds > 0 && `every ${exactDuration(everySeconds)}`, afterTurn && 'after turns'];
  const when = times.filter(Boolean).join(' and ');
  return when ? `${when}${onlyIfChanged ? ' if files changed' : ''}` : undefined;
}

function autosave(of: Autosave): string {
  const times = autosaveTimes(of);
  return times ? `${times}; the newest ${of.keepLast ?? 5} stay` : 'no';
}

/** Describes changes with the same cause as a later one. */
function earlier(changes: Transition[]) {
  const first = changes.at(-1);
  return (
    <>
      {changes.length} more with this cause
      {first && (
        <>
          , since <Time at={first.at} />
        </>
      )}
    </>
  );
}

/** The id of a snapshot in the cause of a change. */
const SNAPSHOT_ID = /\b(snap-[a-z0-9]{16})\b/g;

/** The cause of a change, with links to the snapshots that it names. */
function Cause({ of: { tenant, name, sandboxId }, text }: { of: Workspace; text: string }) {
  const parts = text.split(SNAPSHOT_ID);
  return (
    <>
      {parts.map((part, index) =>
        index % 2 === 0 ? (
          part
        ) : (
          <a
            class="mono"
            href={href({ at: 'workspace', tenant, name, selected: { sandboxId, snapshotId: part } })}
          >
            {part}
          </a>
        ),
      )}
    </>
  );
}

const EFFECTS = {
  fail: 'the start fails',
  report: 'the start continues and reports it',
  allow: 'the start continues',
} as const;

function HookFact({ name, of }: { name: string; of: Hook | undefined }) {
  return (
    <Fact name={name}>
      {of && (
        <>
          <code class="long">{of.command}</code>{' '}
          <span class="hint">
            {exactDuration(of.timeoutSeconds ?? 60)} at most; a failure{' '}
            {of.onFailure === 'warn' ? 'is reported' : 'stops the operation'}
          </span>
        </>
      )}
    </Fact>
  );
}

function Codes({ of }: { of: string[] }) {
  return (
    <ul class="plain">
      {of.map((text) => (
        <li key={text}>
          <code class="long">{text}</code>
        </li>
      ))}
    </ul>
  );
}
