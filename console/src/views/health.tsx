// The health of the deployment: a badge, and a dialog with the checks.

import { useState } from 'preact/hooks';

import { unreachable } from '../../../client/src/failures.ts';
import type { Health as Report } from '../../../client/src/index.ts';
import { useLive, type ReadOptions } from '../live.ts';
import { client, connectionFailure } from '../session.ts';
import { Badge, type Tone } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Failure } from '../ui/failure.tsx';
import { CheckBadge } from '../ui/check-badge.tsx';
import { CodeText } from '../ui/code-text.tsx';
import type { IconName } from '../ui/icons.tsx';
import { count } from '../format.ts';

/** Milliseconds between health checks. */
const INTERVAL = 30_000;

/** The health of the deployment; before sign-in, only that of its configuration. */
export function Health({ isSignedIn }: { isSignedIn: boolean }) {
  const read = isSignedIn ? fetchHealth : fetchConfigHealth;
  const live = useLive(String(isSignedIn), read, { interval: INTERVAL, isIndependent: true });
  const [isOpen, setOpen] = useState(false);
  const report = live.value.value;
  // A check is older than the last call of the page.
  const failure = live.failure.value ?? (isSignedIn ? connectionFailure.value : undefined);
  return (
    <>
      <button type="button" class="health" onClick={() => setOpen(true)}>
        <HealthBadge report={report} isUnknown={failure !== undefined} />
      </button>
      {isOpen && (
        <Dialog title="Health of the deployment" onClose={() => setOpen(false)}>
          <Failure of={failure} />
          {report && <Checks of={report} />}
          <div class="buttons end">
            <Button onClick={() => setOpen(false)}>Close</Button>
          </div>
        </Dialog>
      )}
    </>
  );
}

/** The health in two words. On a phone, only screen readers read them. */
function HealthBadge({ report, isUnknown }: { report: Report | undefined; isUnknown: boolean }) {
  const [tone, icon, text] = summary(report, isUnknown);
  return (
    <Badge tone={tone} icon={icon} title={text}>
      <span class="word">{text}</span>
    </Badge>
  );
}

/** Summarizes the health. A check without a result counts as a warning if it has a code. */
function summary(report: Report | undefined, isUnknown: boolean): [Tone, IconName, string] {
  if (isUnknown) return ['bad', 'warning', 'Health unknown'];
  if (!report) return ['plain', 'time', 'Health…'];
  const failed = report.checks.filter(({ ok }) => ok === false).length;
  if (!report.ok) return ['bad', 'warning', count(Math.max(failed, 1), 'problem')];
  const warnings = report.checks.filter(({ ok, code }) => ok === undefined && code !== undefined).length;
  return warnings > 0 ? ['busy', 'warning', count(warnings, 'warning')] : ['good', 'check', 'Healthy'];
}

function Checks({ of }: { of: Report }) {
  return (
    <>
      <ul class="checks">
        {of.checks.map(({ name, ok, code, detail, remediation }) => (
          <li key={name}>
            <CheckBadge ok={ok} /> <strong>{name}</strong> {code && <code>{code}</code>}
            <p>
              <CodeText of={detail} />
            </p>
            {remediation && (
              <p>
                <CodeText of={remediation} />
              </p>
            )}
          </li>
        ))}
      </ul>
      <p class="hint">Version {of.version}</p>
    </>
  );
}

function fetchHealth(options: ReadOptions): Promise<Report> {
  return client.call('health', options);
}

/** Fetches the health of the configuration, without a token. The status is 503 if a check failed. */
async function fetchConfigHealth({ signal }: ReadOptions): Promise<Report> {
  const response = await fetch('/healthz', { signal }).catch((thrown: unknown) => {
    throw unreachable(location.origin, thrown);
  });
  return (await response.json()) as Report;
}
