// Sets or applies a retention policy, after the user confirmed its plan.

import { useState } from 'preact/hooks';

import type { Policy, Retention } from '../../../client/src/index.ts';
import { useAction } from '../action.ts';
import { client } from '../session.ts';
import { count } from '../format.ts';
import { ActionDialog } from '../ui/dialog.tsx';
import { Name } from '../ui/name.tsx';
import { Remark } from '../ui/remark.tsx';
import { Plan } from './plan.tsx';
import { sentences } from './policy.ts';

/** A policy and its plan, which is not applied yet. */
export interface PlannedPolicy {
  plan: Retention;
  /** The policy to set; undefined to apply the present policy. */
  policy: Policy | undefined;
}

/** Fetches the plan of a policy, or of the sandbox's present policy. */
export function fetchPlan(sandboxId: string, policy: Policy | undefined): Promise<Retention> {
  return policy
    ? client.setRetention({ sandboxId, policy, dryRun: true })
    : client.applyRetention({ sandboxId, dryRun: true });
}

/** Whether two plans remove the same snapshots under the same policy. */
export function isSamePlan(first: Retention, second: Retention): boolean {
  const summarize = ({ policy, decisions }: Retention) =>
    JSON.stringify([
      Object.entries(policy).sort(),
      decisions.filter(({ keep }) => !keep).map(({ snapshotId }) => snapshotId),
    ]);
  return summarize(first) === summarize(second);
}

/** Asks the user to confirm a plan. If the plan has changed when the user confirms it, shows the new plan instead. */
export function ApplyPolicy({
  sandboxId,
  planned: { plan: first, policy },
  onDone,
  onClose,
}: {
  sandboxId: string;
  planned: PlannedPolicy;
  onDone: () => void;
  onClose: () => void;
}) {
  const [plan, setPlan] = useState(first);
  const title = (
    <>
      Applying the policy of <Name of={sandboxId} />
    </>
  );
  const applying = useAction(
    { operation: 'apply', subject: `retention of ${sandboxId}`, title },
    async () => {
      const present = await fetchPlan(sandboxId, policy);
      if (!isSamePlan(plan, present)) return setPlan(present);
      const { evicted } = policy
        ? await client.setRetention({ sandboxId, policy })
        : await client.applyRetention({ sandboxId });
      return {
        message: `The policy was ${policy ? 'set' : 'applied'}; ${count(evicted, 'snapshot')} removed.`,
      };
    },
    () => (onDone(), onClose()),
  );
  return (
    <ActionDialog
      title={policy ? 'Set this policy?' : 'Apply the policy?'}
      submitLabel={policy ? 'Set policy' : 'Apply policy'}
      variant={plan.evicted > 0 ? 'danger' : 'primary'}
      action={applying}
      onClose={onClose}
    >
      {plan !== first && (
        <Remark role="alert">Nothing was done: the plan has changed. This is the present plan.</Remark>
      )}
      <p>
        {plan.evicted === 0
          ? 'No snapshot would be removed now.'
          : `${count(plan.evicted, 'snapshot')} would be removed permanently now.`}
      </p>
      {policy && (
        <ul class="sentences">
          {sentences(plan.policy).map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
      )}
      <Plan of={plan} caption="Planned effect on each snapshot" />
    </ActionDialog>
  );
}
