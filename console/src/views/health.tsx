// Whether the deployment is well, in a corner; what is wrong with it, when asked.

import { useState } from 'preact/hooks';

import type { Health as Found } from '../../../client/src/index.ts';
import { useLive } from '../live.ts';
import { client } from '../session.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Failure } from '../ui/failure.tsx';
import { Verdict } from '../ui/verdict.tsx';
import { Words } from '../ui/words.tsx';
import { count } from '../texts.ts';

/** Milliseconds between two looks. */
const EVERY = 30_000;

/** The health of the deployment: before anybody signed in, that of its configuration alone. */
export function Health({ isSignedIn }: { isSignedIn: boolean }) {
  const read = isSignedIn ? looked : configured;
  const live = useLive(String(isSignedIn), read, { every: EVERY, apart: true });
  const [isOpen, setOpen] = useState(false);
  const found = live.value.value;
  const failure = live.failure.value;
  return (
    <>
      <button type="button" class="health" onClick={() => setOpen(true)}>
        <Corner found={found} isUnknown={failure !== undefined} />
      </button>
      {isOpen && (
        <Dialog title="Health of the deployment" onClose={() => setOpen(false)}>
          <Failure of={failure} />
          {found && <Checks of={found} />}
          <div class="buttons end">
            <Button onClick={() => setOpen(false)}>Close</Button>
          </div>
        </Dialog>
      )}
    </>
  );
}

/** The health in two words. What is not wrong, and has a code all the same, is worth a look. */
function Corner({ found, isUnknown }: { found: Found | undefined; isUnknown: boolean }) {
  if (isUnknown)
    return (
      <Badge tone="bad" icon="warning">
        Health unknown
      </Badge>
    );
  if (!found) return <Badge icon="time">Health…</Badge>;
  const wrong = found.checks.filter(({ ok }) => ok === false).length;
  if (!found.ok)
    return (
      <Badge tone="bad" icon="warning">
        {count(Math.max(wrong, 1), 'problem')}
      </Badge>
    );
  const remarks = found.checks.filter(({ ok, code }) => ok === undefined && code !== undefined).length;
  return remarks > 0 ? (
    <Badge tone="busy" icon="warning">
      {count(remarks, 'remark')}
    </Badge>
  ) : (
    <Badge tone="good" icon="check">
      Healthy
    </Badge>
  );
}

function Checks({ of }: { of: Found }) {
  return (
    <>
      <ul class="checks">
        {of.checks.map(({ name, ok, code, detail, remediation }) => (
          <li key={name}>
            <Verdict ok={ok} /> <strong>{name}</strong> {code && <code>{code}</code>}
            <p>
              <Words of={detail} />
            </p>
            {remediation && (
              <p>
                <Words of={remediation} />
              </p>
            )}
          </li>
        ))}
      </ul>
      <p class="hint">Version {of.version}</p>
    </>
  );
}

function looked(signal: AbortSignal): Promise<Found> {
  return client.call('health', { signal, retry: false });
}

/** It needs no token, and says 503 where something is wrong. */
async function configured(signal: AbortSignal): Promise<Found> {
  const response = await fetch('/healthz', { signal });
  return (await response.json()) as Found;
}
