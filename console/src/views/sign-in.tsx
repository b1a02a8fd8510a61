// The sign-in page.

import { useState } from 'preact/hooks';

import { SnapshotterError } from '../../../client/src/index.ts';
import { useAction } from '../action.ts';
import { sessionError, signIn } from '../session.ts';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { TextField, TickField } from '../ui/field.tsx';
import { Logo } from '../ui/logo.tsx';
import { Health } from './health.tsx';

/** Asks for the API token, and signs in. */
export function SignIn() {
  const [candidate, setCandidate] = useState('');
  const [persist, setPersist] = useState(false);
  const signingIn = useAction({ operation: 'sign in', subject: 'session', title: 'Signing in' }, () =>
    signIn(candidate.trim(), persist),
  );
  const isWrong = signingIn.failure instanceof SnapshotterError && signingIn.failure.code === 'UNAUTHORIZED';
  const submit = (event: Event) => {
    event.preventDefault();
    if (candidate.trim() !== '') void signingIn.run();
  };
  return (
    <main class="sign-in" id="main" tabIndex={-1}>
      <Logo />
      <h1>Sandbox snapshots</h1>
      <p>Snapshots, restores and branches of the sandboxes of this deployment.</p>
      {sessionError.value && signingIn.failure === undefined && (
        <Failure of={sessionError.value}>
          <p>The deployment no longer accepts your token. Sign in again.</p>
        </Failure>
      )}
      <form onSubmit={submit}>
        <TextField
          label="API token"
          type="password"
          autocomplete="current-password"
          value={candidate}
          onValue={setCandidate}
          required
          hint={
            <>
              The secret <code>API_TOKEN</code> of the Worker, or an access token.
            </>
          }
        />
        <TickField
          label="Stay signed in for this tab"
          hint="The tab stores the token until you close it. Otherwise a reload signs you out."
          checked={persist}
          onValue={setPersist}
        />
        <Button variant="primary" busy={signingIn.busy}>
          Sign in
        </Button>
        <Failure of={signingIn.failure} retry={signingIn.retry}>
          {isWrong && <TokenSources />}
        </Failure>
      </form>
      <footer>
        <Health isSignedIn={false} />
        <a href="/docs/guides" target="_blank" rel="noopener">
          Docs
        </a>
      </footer>
    </main>
  );
}

/** Where the user finds the token. */
function TokenSources() {
  return (
    <ul>
      <li>
        On your machine, <code>npm run dev</code> prints it, and stores it in <code>.dev.vars</code>.
      </li>
      <li>
        On Cloudflare, it is the value that was set with <code>npx wrangler secret put API_TOKEN</code>. No
        page shows it again; the same command replaces a lost one.
      </li>
    </ul>
  );
}
