// The result of a verification.

import type { Verification } from '../../../client/src/index.ts';
import { CheckBadge } from '../ui/check-badge.tsx';

/** The checks of a snapshot, each with its result. */
export function VerificationResult({ of }: { of: Verification }) {
  return (
    <section class="verification" aria-label="Verification">
      <h3>{of.ok ? 'No check failed.' : 'A check failed.'}</h3>
      <ul class="checks">
        {of.checks.map(({ name, ok, detail }) => (
          <li key={name}>
            <CheckBadge ok={ok} /> <strong>{name}</strong>
            <p>{detail}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}
