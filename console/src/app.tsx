// The console: who is not signed in signs in; who is sees the place of the address.

import { useEffect, useRef } from 'preact/hooks';

import { Header } from './views/header.tsx';
import { SandboxView } from './views/sandbox.tsx';
import { SignIn } from './views/sign-in.tsx';
import { WorkspaceView } from './views/workspace.tsx';
import { WorkspacesView } from './views/workspaces.tsx';
import { href, place, type Place } from './routes.ts';
import { token } from './session.ts';
import { ActionFailures, forgetFailures } from './ui/action-failures.tsx';
import { Boundary } from './ui/boundary.tsx';
import { catchFocus } from './ui/dialog-focus.ts';
import { announce, Notice } from './ui/notice.tsx';
import { Outlet } from './ui/portal.tsx';

/** All of it. */
export function App() {
  const isSignedIn = token.value !== undefined;
  const was = useRef(isSignedIn);
  useEffect(() => {
    if (was.current !== isSignedIn) catchFocus();
    was.current = isSignedIn;
    if (isSignedIn) return;
    document.title = 'Sign in · Sandbox snapshots';
    announce();
    forgetFailures();
  }, [isSignedIn]);
  return (
    <>
      {isSignedIn ? (
        <Shown />
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

function Shown() {
  const to = place.value;
  const address = href(to);
  const main = useRef<HTMLElement>(null);
  const title = titleOf(to);
  // What is selected within a place leaves the focus where it is.
  const ground = href(to.at === 'workspaces' ? { at: 'workspaces', tenant: to.tenant } : bare(to));
  const entered = useRef(ground);
  useEffect(() => {
    document.title = `${title} · Sandbox snapshots`;
    if (entered.current !== ground) main.current?.focus();
    entered.current = ground;
  }, [ground]);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        Skip to content
      </a>
      <Boundary about={address}>
        <Header />
      </Boundary>
      <main ref={main} tabIndex={-1} id="main" key={ground}>
        <ActionFailures />
        <Boundary about={address}>
          {to.at === 'workspaces' && <WorkspacesView {...to} />}
          {to.at === 'workspace' && <WorkspaceView {...to} />}
          {to.at === 'sandbox' && <SandboxView {...to} />}
        </Boundary>
      </main>
    </>
  );
}

function bare(to: Exclude<Place, { at: 'workspaces' }>): Place {
  return to.at === 'workspace'
    ? { at: 'workspace', tenant: to.tenant, name: to.name }
    : { at: 'sandbox', sandboxId: to.sandboxId };
}

function titleOf(to: Place): string {
  if (to.at === 'workspaces') return 'Workspaces';
  return to.at === 'workspace' ? to.name : to.sandboxId;
}
