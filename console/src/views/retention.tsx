// The retention policy of a sandbox, and its effect on each snapshot.

import { useState } from 'preact/hooks';

import type { Policy } from '../../../client/src/index.ts';
import { useAction } from '../action.ts';
import { useLive } from '../live.ts';
import { client } from '../session.ts';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { Name } from '../ui/name.tsx';
import { ApplyPolicy, fetchPlan, type PlannedPolicy } from './apply-policy.tsx';
import { Plan } from './plan.tsx';
import { PolicyForm } from './policy-form.tsx';
import { sentences } from './policy.ts';

/** The policy of a sandbox, its form, and its plan. A policy is set or applied only after the user saw its plan. */
export function RetentionTab({ sandboxId }: { sandboxId: string }) {
  const live = useLive(`retention of ${sandboxId}`, (options) => client.retention({ sandboxId, ...options }));
  const [isEditing, setEditing] = useState(false);
  const [planned, setPlanned] = useState<PlannedPolicy>();
  const title = (
    <>
      Planning the retention of <Name of={sandboxId} />
    </>
  );
  const planning = useAction(
    { operation: 'plan', subject: `retention of ${sandboxId}`, title },
    async (policy?: Policy) => setPlanned({ policy, plan: await fetchPlan(sandboxId, policy) }),
  );
  return (
    <Loaded of={live} loading="Loading the policy…">
      {(retention) => (
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
                <Button needs="setRetention" onClick={() => setEditing(true)}>
                  Change the policy…
                </Button>
                <Button needs="applyRetention" busy={planning.busy} onClick={() => void planning.run()}>
                  Apply now…
                </Button>
              </div>
            )}
            <Failure of={planning.failure} retry={planning.retry} />
          </section>
          <section aria-labelledby="plan">
            <h3 id="plan">Plan</h3>
            <Plan of={retention} caption="Effect of the policy on each snapshot" />
          </section>
          {planned && (
            <ApplyPolicy
              sandboxId={sandboxId}
              planned={planned}
              onDone={() => setEditing(false)}
              onClose={() => setPlanned(undefined)}
            />
          )}
        </>
      )}
    </Loaded>
  );
}
