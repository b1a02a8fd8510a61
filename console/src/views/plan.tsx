// A retention plan: the decision about each snapshot, and its reasons.

import type { Retention } from '../../../client/src/index.ts';
import { readable } from '../format.ts';
import { Badge } from '../ui/badge.tsx';
import { Time } from '../ui/facts.tsx';
import { Name } from '../ui/name.tsx';

/** The decisions of a policy. */
export function Plan({ of: { decisions }, caption }: { of: Retention; caption: string }) {
  if (decisions.length === 0) return <p class="empty">No snapshots.</p>;
  return (
    <div class="scroll plan" role="region" aria-label={caption} tabIndex={0}>
      <table>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            <th scope="col">Snapshot</th>
            <th scope="col">Decision</th>
            <th scope="col">Reasons</th>
          </tr>
        </thead>
        <tbody>
          {decisions.map(({ snapshotId, label, createdAt, keep, reasons, expiresAt }) => (
            <tr key={snapshotId}>
              <th scope="row">
                <Name of={label} />
                <div class="hint">
                  <Time at={createdAt} />
                </div>
              </th>
              <td>
                {keep ? (
                  <Badge tone="good" icon="check">
                    keep
                  </Badge>
                ) : (
                  <Badge tone="bad" icon="trash">
                    remove
                  </Badge>
                )}
                {keep && expiresAt && (
                  <div class="hint">
                    expires <Time at={expiresAt} />
                  </div>
                )}
              </td>
              <td>
                <ul class="reasons">
                  {reasons.map((reason) => (
                    <li key={reason}>
                      <Name of={readable(reason)} />
                    </li>
                  ))}
                </ul>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
