// Signing in.

import { useState } from 'preact/hooks';

import { useAction } from '../action.ts';
import { expelled, signIn } from '../session.ts';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { TextField, TickField } from '../ui/field.tsx';
import { Logo } from '../ui/logo.tsx';
import { Health } from './health.tsx';

/** Asks for the API token. */
export function SignIn() {
  const [given, setGiven] = useState('');
  const [keep, setKeep] = useState(false);
  const entering = useAction({ verb: 'sign in', subject: 'session', title: 'Signing in' }, () =>
    signIn(given.trim(), keep),
  );
  const submit = (event: Event) => {
    event.preventDefault();
    if (given.trim() !== '') void entering.run();
  };
  return (
    <main class="sign-in" id="main" tabIndex={-1}>
      <Logo />
      <h1>Sandbox snapshots</h1>
      <p>Snapshots, restores and branches of the sandboxes of this deployment.</p>
      {expelled.value && entering.failure === undefined && (
        <Failure of={expelled.value}>
          <p>The token that you signed in with is not accepted any more. Sign in again.</p>
        </Failure>
      )}
      <form onSubmit={submit}>
        <TextField
          label="API token"
          type="password"
          autocomplete="current-password"
          value={given}
          onValue={setGiven}
          required
          hint={
            <>
              The secret <code>API_TOKEN</code> of the Worker.
            </>
          }
        />
        <TickField
          label="Stay signed in for this tab"
          hint="The tab keeps the token until it is closed. Otherwise it is forgotten with the page."
          checked={keep}
          onValue={setKeep}
        />
        <Failure of={entering.failure} />
        <Button look="primary" busy={entering.busy}>
          Sign in
        </Button>
      </form>
      <footer>
        <Health isSignedIn={false} />
        <a href="/docs" target="_blank" rel="noopener">
          HTTP API
        </a>
      </footer>
    </main>
  );
}
