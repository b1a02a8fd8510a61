// The console: the sign-in page, or the page of the address if the user is signed in.

import { useEffect, useRef } from 'preact/hooks';

import { Header } from './views/header.tsx';
import { SandboxView } from './views/sandbox.tsx';
import { SignIn } from './views/sign-in.tsx';
import { WorkspaceView } from './views/workspace.tsx';
import { WorkspacesView } from './views/workspaces.tsx';
import { href, place, type Place } from './routes.ts';
import { token } from './session.ts';
import { ActionFailures, clearFailures } from './ui/action-failures.tsx';
import { Boundary } from './ui/boundary.tsx';
import { recoverFocus } from './ui/dialog-focus.ts';
import { announce, Notice } from './ui/notice.tsx';
import { Outlet } from './ui/portal.tsx';

/** The whole console. */
export function App() {
  const isSignedIn = token.value !== undefined;
  const wasSignedIn = useRef(isSignedIn);
  useEffect(() => {
    if (wasSignedIn.current !== isSignedIn) recoverFocus();
    wasSignedIn.current = isSignedIn;
    if (isSignedIn) return;
    document.title = 'Sign in · Sandbox snapshots';
    announce();
    clearFailures();
  }, [isSignedIn]);
  return (
    <>
      {isSignedIn ? (
        <CurrentPage />
      ) : (
        <Boundary>
          <SignIn />
        </Boundary>
      )}
      <Notice />
      <Outlet />
    </>
  );
}

function CurrentPage() {
  const to = place.value;
  const address = href(to);
  const main = useRef<HTMLElement>(null);
  const title = titleOf(to);
  // A selection within a page does not move the focus.
  const base = href(to.at === 'workspaces' ? { at: 'workspaces', tenant: to.tenant } : withoutDetails(to));
  const previous = useRef(base);
  useEffect(() => {
    document.title = `${title} · Sandbox snapshots`;
    if (previous.current !== base) main.current?.focus();
    previous.current = base;
  }, [base]);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        Skip to content
      </a>
      <Boundary resetKey={address}>
        <Header />
      </Boundary>
      <main ref={main} tabIndex={-1} id="main" key={base}>
        <ActionFailures />
        <Boundary resetKey={address}>
          {to.at === 'workspaces' && <WorkspacesView {...to} />}
          {to.at === 'workspace' && <WorkspaceView {...to} />}
          {to.at === 'sandbox' && <SandboxView {...to} />}
        </Boundary>
      </main>
    </>
  );
}

function withoutDetails(to: Exclude<Place, { at: 'workspaces' }>): Place {
  return to.at === 'workspace'
    ? { at: 'workspace', tenant: to.tenant, name: to.name }
    : { at: 'sandbox', sandboxId: to.sandboxId };
}

function titleOf(to: Place): string {
  if (to.at === 'workspaces') return 'Workspaces';
  return to.at === 'workspace' ? to.name : to.sandboxId;
}
