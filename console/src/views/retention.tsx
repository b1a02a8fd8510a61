// How long the snapshots of a sandbox are kept: the policy, and what it means for each of them.

import { useState } from 'preact/hooks';

import type { Policy, Retention } from '../../../client/src/index.ts';
import { useAction } from '../action.ts';
import { useLive } from '../live.ts';
import { client } from '../session.ts';
import { count } from '../texts.ts';
import { Button } from '../ui/button.tsx';
import { Ask } from '../ui/dialog.tsx';
import { Failure } from '../ui/failure.tsx';
import { announce } from '../ui/notice.tsx';
import { Plan } from './plan.tsx';
import { PolicyForm } from './policy-form.tsx';
import { sentences } from './policy.ts';

/** What was asked for, and only planned yet. */
interface Planned {
  plan: Retention;
  /** The policy that would be set; absent where the present one would be applied. */
  policy?: Policy;
}

/** The policy of a sandbox in words and as a form, and the plan. Nothing is let go before its plan was seen. */
export function RetentionTab({ sandboxId }: { sandboxId: string }) {
  const live = useLive(`retention of ${sandboxId}`, (signal) =>
    client.retention({ sandboxId, signal, retry: false }),
  );
  const [isEditing, setEditing] = useState(false);
  const [planned, setPlanned] = useState<Planned>();

  const planning = useAction(async (policy?: Policy) => {
    const plan = policy
      ? await client.setRetention({ sandboxId, policy, dryRun: true })
      : await client.applyRetention({ sandboxId, dryRun: true });
    setPlanned(policy ? { plan, policy } : { plan });
  });
  const carrying = useAction(async () => {
    const policy = planned?.policy;
    const { letGo } = policy
      ? await client.setRetention({ sandboxId, policy })
      : await client.applyRetention({ sandboxId });
    const gone = letGo === 0 ? 'nothing went' : `${count(letGo, 'snapshot')} went`;
    announce(policy ? `The policy is set; ${gone}.` : `The policy was applied; ${gone}.`);
    setEditing(false);
  });

  const retention = live.value.value;
  if (!retention)
    return live.failure.value === undefined ? (
      <p class="empty">Reading the policy…</p>
    ) : (
      <Failure of={live.failure.value} />
    );
  return (
    <>
      <section aria-labelledby="policy">
        <h3 id="policy">Policy</h3>
        <ul class="sentences">
          {sentences(retention.policy).map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
        {isEditing ? (
          <PolicyForm
            policy={retention.policy}
            busy={planning.busy}
            onPreview={(policy) => void planning.run(policy)}
            onCancel={() => setEditing(false)}
          />
        ) : (
          <div class="buttons">
            <Button onClick={() => setEditing(true)}>Change the policy…</Button>
            <Button busy={planning.busy} onClick={() => void planning.run()}>
              Apply it now…
            </Button>
          </div>
        )}
        <Failure of={planning.failure} />
      </section>
      <section aria-labelledby="plan">
        <h3 id="plan">Plan</h3>
        <Plan of={retention} caption="What the policy means for each snapshot" />
      </section>
      {planned && (
        <Ask
          title={planned.policy ? 'Set this policy?' : 'Apply the policy?'}
          verb={planned.policy ? 'Set the policy' : 'Apply it'}
          look={planned.plan.letGo > 0 ? 'danger' : 'primary'}
          action={carrying}
          onClose={() => setPlanned(undefined)}
        >
          <p>
            {planned.plan.letGo === 0
              ? 'Nothing would go now.'
              : `${count(planned.plan.letGo, 'snapshot')} would go now, for good.`}
          </p>
          {planned.policy && (
            <ul class="sentences">
              {sentences(planned.plan.policy).map((sentence) => (
                <li key={sentence}>{sentence}</li>
              ))}
            </ul>
          )}
          <Plan of={planned.plan} caption="What would become of each snapshot" />
        </Ask>
      )}
    </>
  );
}
