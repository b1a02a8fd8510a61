// Carrying out what was planned for the snapshots of a sandbox.

import { useState } from 'preact/hooks';

import type { Policy, Retention } from '../../../client/src/index.ts';
import { useAction } from '../action.ts';
import { client } from '../session.ts';
import { count } from '../texts.ts';
import { Ask } from '../ui/dialog.tsx';
import { Icon } from '../ui/icons.tsx';
import { Name } from '../ui/name.tsx';
import { Plan } from './plan.tsx';
import { sentences } from './policy.ts';

/** What was asked for, and only planned yet. */
export interface Planned {
  plan: Retention;
  /** The policy that would be set; absent where the present one would be applied. */
  policy: Policy | undefined;
}

/** What would become of the snapshots of a sandbox by a policy, or by its present one. */
export function planOf(sandboxId: string, policy: Policy | undefined): Promise<Retention> {
  return policy
    ? client.setRetention({ sandboxId, policy, dryRun: true })
    : client.applyRetention({ sandboxId, dryRun: true });
}

/** Whether two plans evict the same snapshots, by the same policy. */
export function isSamePlan(one: Retention, other: Retention): boolean {
  const gist = ({ policy, decisions }: Retention) =>
    JSON.stringify([
      Object.entries(policy).sort(),
      decisions.filter(({ keep }) => !keep).map(({ snapshotId }) => snapshotId),
    ]);
  return gist(one) === gist(other);
}

/** Asks whether to carry out a plan. One that is not right any more when that is agreed to is shown anew. */
export function CarryOut({
  sandboxId,
  planned: { plan: first, policy },
  onDone,
  onClose,
}: {
  sandboxId: string;
  planned: Planned;
  onDone: () => void;
  onClose: () => void;
}) {
  const [plan, setPlan] = useState(first);
  const title = (
    <>
      Carrying out the policy of <Name of={sandboxId} />
    </>
  );
  const carrying = useAction(
    { verb: 'carry out', subject: `retention of ${sandboxId}`, title },
    async () => {
      const present = await planOf(sandboxId, policy);
      if (!isSamePlan(plan, present)) return setPlan(present);
      const { evicted } = policy
        ? await client.setRetention({ sandboxId, policy })
        : await client.applyRetention({ sandboxId });
      const gone = evicted === 0 ? 'nothing went' : `${count(evicted, 'snapshot')} went`;
      return { said: policy ? `The policy is set; ${gone}.` : `The policy was applied; ${gone}.` };
    },
    () => (onDone(), onClose()),
  );
  return (
    <Ask
      title={policy ? 'Set this policy?' : 'Apply the policy?'}
      verb={policy ? 'Set the policy' : 'Apply it'}
      look={plan.evicted > 0 ? 'danger' : 'primary'}
      action={carrying}
      onClose={onClose}
    >
      {plan !== first && (
        <p class="remark" role="alert">
          <Icon name="warning" /> Nothing was done: something changed since the plan was made. This is the
          plan now.
        </p>
      )}
      <p>
        {plan.evicted === 0
          ? 'Nothing would go now.'
          : `${count(plan.evicted, 'snapshot')} would go now, for good.`}
      </p>
      {policy && (
        <ul class="sentences">
          {sentences(plan.policy).map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
      )}
      <Plan of={plan} caption="What would become of each snapshot" />
    </Ask>
  );
}
