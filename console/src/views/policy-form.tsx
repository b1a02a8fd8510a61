// A policy as a form.

import { useState } from 'preact/hooks';

import type { Policy } from '../../../client/src/index.ts';
import { Button } from '../ui/button.tsx';
import { DurationField } from '../ui/duration.tsx';
import { TextField, TickField } from '../ui/field.tsx';
import { fieldsOf, policyOf, type PolicyFields } from './policy-fields.ts';

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
  const [fields, setFields] = useState(() => fieldsOf(policy));
  const set = (changed: Partial<PolicyFields>) => setFields((fields) => ({ ...fields, ...changed }));
  const submit = (event: Event) => {
    event.preventDefault();
    onPreview(policyOf(policy, fields));
  };
  return (
    <form class="inset" aria-label="Policy" onSubmit={submit}>
      <DurationField
        label="A snapshot goes after its last use"
        value={fields.expirationSeconds}
        onValue={(expirationSeconds) => set({ expirationSeconds })}
      />
      <TextField
        label="Keep the newest"
        hint="How many. No bound where you give none."
        type="number"
        min={1}
        value={fields.last}
        onValue={(last) => set({ last })}
      />
      {fields.last !== '' && (
        <>
          <DurationField
            label="The newest go after their last use"
            absent="as the others"
            value={fields.lastSeconds}
            onValue={(lastSeconds) => set({ lastSeconds })}
          />
          <TickField
            label="The others go at once"
            hint="Otherwise they go when they expire."
            checked={fields.deleteEvicted}
            onValue={(deleteEvicted) => set({ deleteEvicted })}
          />
        </>
      )}
      <TextField
        label="Keep the newest of each day, for how many days"
        type="number"
        min={0}
        value={fields.daily}
        onValue={(daily) => set({ daily })}
      />
      <TextField
        label="Keep the newest of each week, for how many weeks"
        type="number"
        min={0}
        value={fields.weekly}
        onValue={(weekly) => set({ weekly })}
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
