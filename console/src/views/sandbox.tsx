// The page of a sandbox that was opened by its id.

import type { DetailsParams } from '../routes.ts';
import { Id } from '../ui/copy.tsx';
import { Lineage, useLineage } from './lineage.tsx';

/** A sandbox and its lineage. */
export function SandboxView({ sandboxId, ...details }: { sandboxId: string } & DetailsParams) {
  const live = useLineage(sandboxId);
  return (
    <>
      <header class="page-head">
        <p class="kind">Sandbox</p>
        <h1>
          <Id of={sandboxId} what="sandbox id" />
        </h1>
      </header>
      <Lineage
        current={sandboxId}
        live={live}
        {...details}
        placeFor={(details) => ({ at: 'sandbox', sandboxId, ...details })}
      />
    </>
  );
}
