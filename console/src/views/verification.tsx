// What a verification found.

import type { Verification } from '../../../client/src/index.ts';
import { Verdict } from '../ui/verdict.tsx';

/** The checks of a snapshot, each with its verdict. */
export function Checked({ of }: { of: Verification }) {
  return (
    <section class="verification" aria-label="Verification">
      <h3>{of.ok ? 'Everything that could be checked is right.' : 'Something is wrong with it.'}</h3>
      <ul class="checks">
        {of.checks.map(({ name, ok, detail }) => (
          <li key={name}>
            <Verdict ok={ok} /> <strong>{name}</strong>
            <p>{detail}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}
