// The form of a retention policy.

import { useState } from 'preact/hooks';

import type { Policy } from '../../../client/src/index.ts';
import { Button } from '../ui/button.tsx';
import { DurationField } from '../ui/duration.tsx';
import { TextField, TickField } from '../ui/field.tsx';
import { fieldsOf, policyOf, type PolicyFields } from './policy-fields.ts';

/** A form that changes a policy, with a button that previews its plan. */
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
        label="Snapshots expire after their last use"
        value={fields.expirationSeconds}
        onValue={(expirationSeconds) => set({ expirationSeconds })}
      />
      <TextField
        label="Newest snapshots to keep"
        hint="Leave empty for no limit."
        type="number"
        min={1}
        value={fields.last}
        onValue={(last) => set({ last })}
      />
      {fields.last !== '' && (
        <>
          <DurationField
            label="The newest expire after their last use"
            absent="like the others"
            value={fields.lastSeconds}
            onValue={(lastSeconds) => set({ lastSeconds })}
          />
          <TickField
            label="Remove the others at once"
            hint="Otherwise they are removed when they expire."
            checked={fields.deleteEvicted}
            onValue={(deleteEvicted) => set({ deleteEvicted })}
          />
        </>
      )}
      <TextField
        label="Days whose newest snapshot is kept"
        type="number"
        min={0}
        value={fields.daily}
        onValue={(daily) => set({ daily })}
      />
      <TextField
        label="Weeks whose newest snapshot is kept"
        type="number"
        min={0}
        value={fields.weekly}
        onValue={(weekly) => set({ weekly })}
      />
      <div class="buttons">
        <Button variant="primary" busy={busy}>
          Preview…
        </Button>
        <Button onClick={onCancel}>Cancel</Button>
      </div>
    </form>
  );
}
