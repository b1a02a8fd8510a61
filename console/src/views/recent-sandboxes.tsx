// The sandboxes that the user opened lately.

import { clearRecent, recentSandboxes } from '../recent.ts';
import { href } from '../routes.ts';
import { Button } from '../ui/button.tsx';
import { Time } from '../ui/facts.tsx';

/** A list of links to the sandboxes that were opened in this browser. */
export function RecentSandboxes() {
  const sandboxes = recentSandboxes.value;
  return (
    <section class="recent" aria-labelledby="recent">
      <header class="page-head">
        <h2 id="recent">Recent sandboxes</h2>
        {sandboxes.length > 0 && (
          <Button variant="quiet" label="Clear the recent sandboxes" onClick={clearRecent}>
            Clear
          </Button>
        )}
      </header>
      {sandboxes.length > 0 && (
        <ul class="panel plain">
          {sandboxes.map(({ sandboxId, openedAt }) => (
            <li key={sandboxId}>
              <a class="mono" href={href({ at: 'sandbox', sandboxId })}>
                {sandboxId}
              </a>
              <span class="hint">
                opened <Time at={openedAt} />
              </span>
            </li>
          ))}
        </ul>
      )}
      <p class="hint">
        {sandboxes.length === 0 && 'None yet: open a sandbox by its id in the field at the top. '}
        The Worker does not list sandboxes without a workspace. This browser lists those that you opened in
        it.
      </p>
    </section>
  );
}
