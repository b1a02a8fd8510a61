// The page of a sandbox that was opened by its id.

import type { Beside } from '../routes.ts';
import { Id } from '../ui/copy.tsx';
import { Lineage } from './lineage.tsx';

/** A sandbox, and the lineage that it belongs to. */
export function SandboxView({ sandboxId, ...beside }: { sandboxId: string } & Beside) {
  return (
    <>
      <header class="page-head">
        <p class="kind">Sandbox</p>
        <h1>
          <Id of={sandboxId} what="sandbox id" />
        </h1>
      </header>
      <Lineage current={sandboxId} {...beside} at={(beside) => ({ at: 'sandbox', sandboxId, ...beside })} />
    </>
  );
}
