// A policy as a form.

import { useState } from 'preact/hooks';

import type { KeepLast, Policy } from '../../../client/src/index.ts';
import { given, number } from '../options.ts';
import { Button } from '../ui/button.tsx';
import { DurationField } from '../ui/duration.tsx';
import { TextField, TickField } from '../ui/field.tsx';
import { DEFAULT_EXPIRATION } from './policy.ts';

/** Asks for a policy, beginning with the present one. */
export function PolicyForm({
  policy,
  busy,
  onPreview,
  onCancel,
}: {
  policy: Policy;
  busy: boolean;
  onPreview: (policy: Policy) => void;
  onCancel: () => void;
}) {
  const [expirationSeconds, setExpiration] = useState<number | undefined>(
    policy.expirationSeconds ?? DEFAULT_EXPIRATION,
  );
  const [last, setLast] = useState(String(policy.keepLast?.count ?? ''));
  const [lastSeconds, setLastSeconds] = useState(policy.keepLast?.expirationSeconds);
  const [deleteEvicted, setDeleteEvicted] = useState(policy.keepLast?.deleteEvicted ?? true);
  const [daily, setDaily] = useState(String(policy.keepDaily || ''));
  const [weekly, setWeekly] = useState(String(policy.keepWeekly || ''));

  const submit = (event: Event) => {
    event.preventDefault();
    const newest = number(last);
    const keepLast =
      newest === undefined
        ? undefined
        : given<KeepLast>({ count: newest, deleteEvicted, expirationSeconds: lastSeconds });
    onPreview(
      given<Policy>({ expirationSeconds, keepLast, keepDaily: number(daily), keepWeekly: number(weekly) }),
    );
  };
  return (
    <form class="inset" aria-label="Policy" onSubmit={submit}>
      <DurationField
        label="A snapshot goes after its last use"
        value={expirationSeconds}
        onValue={setExpiration}
      />
      <TextField
        label="Keep the newest"
        hint="How many. No bound where you give none."
        type="number"
        min={1}
        value={last}
        onValue={setLast}
      />
      {last !== '' && (
        <>
          <DurationField
            label="The newest go after their last use"
            absent="as the others"
            value={lastSeconds}
            onValue={setLastSeconds}
          />
          <TickField
            label="The others go at once"
            hint="Otherwise they go when they expire."
            checked={deleteEvicted}
            onValue={setDeleteEvicted}
          />
        </>
      )}
      <TextField
        label="Keep the newest of each day, for how many days"
        type="number"
        min={0}
        value={daily}
        onValue={setDaily}
      />
      <TextField
        label="Keep the newest of each week, for how many weeks"
        type="number"
        min={0}
        value={weekly}
        onValue={setWeekly}
      />
      <div class="buttons">
        <Button look="primary" busy={busy}>
          Preview…
        </Button>
        <Button onClick={onCancel}>Cancel</Button>
      </div>
    </form>
  );
}
