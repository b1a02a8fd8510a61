// What was checked, and what came of it.

import { Badge } from './badge.tsx';

/** Whether something is right; neither where there is nothing to judge. */
export function Verdict({ ok }: { ok: boolean | undefined }) {
  if (ok === undefined) return <Badge icon="dash">not judged</Badge>;
  return ok ? (
    <Badge tone="good" icon="check">
      right
    </Badge>
  ) : (
    <Badge tone="bad" icon="cross">
      wrong
    </Badge>
  );
}
