// Why the last operation on a workspace failed.

import type { WorkspaceProblem } from '../../../client/src/index.ts';
import { CodeText } from '../ui/code-text.tsx';
import { Time } from '../ui/facts.tsx';
import { remediationOf } from '../ui/remediation.ts';

/** The problem in the description of a workspace, and its remediation. */
export function ProblemOf({ of }: { of: WorkspaceProblem }) {
  return (
    <div class="failure">
      <p>
        <strong>{of.code}</strong> <Time at={of.at} />
      </p>
      <p>
        <CodeText of={of.message} />
      </p>
      <p>
        <CodeText of={remediationOf(of)} />
      </p>
    </div>
  );
}
