// The console: the sign-in page, or the page of the address if the user is signed in.

import { useEffect, useRef } from 'preact/hooks';

import { Header } from './views/header.tsx';
import { SandboxView } from './views/sandbox.tsx';
import { DiffView } from './views/snapshot-diff.tsx';
import { FilesView } from './views/snapshot-files.tsx';
import { SignIn } from './views/sign-in.tsx';
import { TokensView } from './views/tokens.tsx';
import { UnknownView } from './views/unknown.tsx';
import { UsageView } from './views/usage.tsx';
import { WorkView } from './views/work.tsx';
import { WorkspaceView } from './views/workspace.tsx';
import { WorkspacesView } from './views/workspaces.tsx';
import { href, pageOf, place, type Place } from './routes.ts';
import { token } from './session.ts';
import { ActionFailures, clearFailures } from './ui/action-failures.tsx';
import { Boundary } from './ui/boundary.tsx';
import { recoverFocus } from './ui/dialog-focus.ts';
import { announce, Notice, removeNoticeOfOtherPage } from './ui/notice.tsx';
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
  const base = href(pageOf(to));
  const previous = useRef(base);
  useEffect(() => {
    document.title = `${title} · Sandbox snapshots`;
    if (previous.current !== base) {
      main.current?.focus();
      removeNoticeOfOtherPage();
    }
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
          {to.at === 'usage' && <UsageView {...to} />}
          {to.at === 'tokens' && <TokensView {...to} />}
          {to.at === 'workspace' && <WorkspaceView {...to} />}
          {to.at === 'work' && <WorkView {...to} />}
          {to.at === 'sandbox' && <SandboxView {...to} />}
          {to.at === 'files' && <FilesView {...to} />}
          {to.at === 'diff' && <DiffView {...to} />}
          {to.at === 'unknown' && <UnknownView {...to} />}
        </Boundary>
      </main>
    </>
  );
}

function titleOf(to: Place): string {
  if (to.at === 'workspaces') return 'Workspaces';
  if (to.at === 'usage') return 'Usage';
  if (to.at === 'tokens') return 'Access tokens';
  if (to.at === 'unknown') return 'Unknown page';
  if (to.at === 'files') return to.path || `Files of ${to.snapshotId}`;
  if (to.at === 'work') return to.path || `Files of ${to.name}`;
  if (to.at === 'diff') return 'Differences';
  return to.at === 'workspace' ? to.name : to.sandboxId;
}
