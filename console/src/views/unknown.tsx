// The page of an address that the console does not know.

import { DEFAULT_TENANT, href } from '../routes.ts';

/** Says that the address is unknown, and leads to the workspaces. */
export function UnknownView({ address }: { address: string }) {
  return (
    <>
      <header class="page-head">
        <h1>Unknown page</h1>
      </header>
      <p class="empty">
        The console has no page with the address <code>{address}</code>.
      </p>
      <div class="buttons">
        <a class="button" href={href({ at: 'workspaces', tenant: DEFAULT_TENANT })}>
          Show all workspaces
        </a>
      </div>
    </>
  );
}
