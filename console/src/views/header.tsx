// The header of every page.

import { useState } from 'preact/hooks';

import { DEFAULT_TENANT, go, href, place } from '../routes.ts';
import { signOut } from '../session.ts';
import { theme, THEMES, type Theme } from '../theme.ts';
import { Button } from '../ui/button.tsx';
import { Icon, type IconName } from '../ui/icons.tsx';
import { Logo } from '../ui/logo.tsx';
import { Health } from './health.tsx';

/** The name, the navigation, and the health of the deployment. */
export function Header() {
  const at = place.value;
  const home = href({ at: 'workspaces', tenant: at.at === 'sandbox' ? DEFAULT_TENANT : at.tenant });
  return (
    <header class="top">
      <a class="brand" href={home}>
        <Logo />
        <span>Sandbox snapshots</span>
      </a>
      <nav aria-label="Main">
        <a href={home} aria-current={at.at === 'workspaces' ? 'page' : undefined}>
          Workspaces
        </a>
        <a class="docs" href="/docs" target="_blank" rel="noopener">
          HTTP API
        </a>
      </nav>
      <OpenSandbox />
      <div class="corner">
        <Health isSignedIn />
        <ThemeSwitch />
        <Button variant="quiet" onClick={signOut}>
          Sign out
        </Button>
      </div>
    </header>
  );
}

/** A field that opens a sandbox by its id. The start page lists only the recent ones. */
function OpenSandbox() {
  const [id, setId] = useState('');
  const submit = (event: Event) => {
    event.preventDefault();
    if (id.trim() === '') return;
    go({ at: 'sandbox', sandboxId: id.trim() });
    setId('');
  };
  return (
    <form class="open" role="search" aria-label="Sandboxes" onSubmit={submit}>
      <input
        type="search"
        aria-label="Sandbox id"
        placeholder="Open a sandbox by id"
        spellcheck={false}
        autocomplete="off"
        value={id}
        onInput={(event) => setId(event.currentTarget.value)}
      />
      <Button>Open</Button>
    </form>
  );
}

const THEME_ICONS: Record<Theme, IconName> = { system: 'screen', light: 'sun', dark: 'moon' };

function ThemeSwitch() {
  const next = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? 'system';
  return (
    <button
      type="button"
      class="button quiet"
      aria-label={`Colors: ${theme.value}. Change to ${next}`}
      onClick={() => (theme.value = next)}
    >
      <Icon name={THEME_ICONS[theme.value]} />
    </button>
  );
}
