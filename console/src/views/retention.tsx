// How long the snapshots of a sandbox are kept: the policy, and what it means for each of them.

import { useState } from 'preact/hooks';

import type { Policy } from '../../../client/src/index.ts';
import { useAction } from '../action.ts';
import { useLive } from '../live.ts';
import { client } from '../session.ts';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { Name } from '../ui/name.tsx';
import { CarryOut, planOf, type Planned } from './carry-out.tsx';
import { Plan } from './plan.tsx';
import { PolicyForm } from './policy-form.tsx';
import { sentences } from './policy.ts';

/** The policy of a sandbox in words and as a form, and the plan. Nothing is let go before its plan was seen. */
export function RetentionTab({ sandboxId }: { sandboxId: string }) {
  const live = useLive(`retention of ${sandboxId}`, (signal) =>
    client.retention({ sandboxId, signal, retry: false }),
  );
  const [isEditing, setEditing] = useState(false);
  const [planned, setPlanned] = useState<Planned>();
  const title = (
    <>
      Planning for <Name of={sandboxId} />
    </>
  );
  const planning = useAction(
    { verb: 'plan', subject: `retention of ${sandboxId}`, title },
    async (policy?: Policy) => setPlanned({ policy, plan: await planOf(sandboxId, policy) }),
  );
  return (
    <Loaded of={live} reading="Reading the policy…">
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
            <CarryOut
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
