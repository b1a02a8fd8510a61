// The result of a check.

import { Badge } from './badge.tsx';

/** The result of a check; `ok` is undefined if the check has no result. */
export function CheckBadge({ ok }: { ok: boolean | undefined }) {
  if (ok === undefined) return <Badge icon="dash">no result</Badge>;
  return ok ? (
    <Badge tone="good" icon="check">
      passed
    </Badge>
  ) : (
    <Badge tone="bad" icon="cross">
      failed
    </Badge>
  );
}
