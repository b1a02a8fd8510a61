// The header of every page.

import { useState } from 'preact/hooks';

import { DEFAULT_TENANT, go, href, place, placeOf } from '../routes.ts';
import { access } from '../permissions.ts';
import { signOut } from '../session.ts';
import { theme, THEMES, type Theme } from '../theme.ts';
import { Button } from '../ui/button.tsx';
import { Icon, type IconName } from '../ui/icons.tsx';
import { Logo } from '../ui/logo.tsx';
import { Health } from './health.tsx';

/** The name, the navigation, and the health of the deployment. */
export function Header() {
  const at = place.value;
  const tenant = 'tenant' in at ? at.tenant : DEFAULT_TENANT;
  const home = href({ at: 'workspaces', tenant });
  return (
    <header class="top">
      <a class="brand" href={home}>
        <Logo />
        <span>Sandbox snapshots</span>
      </a>
      <nav aria-label="Main">
        <a href={home} aria-current={at.at === 'workspaces' ? 'page' : 'tenant' in at ? 'true' : undefined}>
          Workspaces
        </a>
        <a class="docs" href="/docs/guides" target="_blank" rel="noopener">
          Docs
        </a>
      </nav>
      <Open tenant={tenant} />
      <div class="corner">
        <Access />
        <Health isSignedIn />
        <ThemeSwitch />
        <Button variant="quiet" onClick={signOut}>
          Sign out
        </Button>
      </div>
    </header>
  );
}

/** What the access token of the user permits. The API token permits everything. */
function Access() {
  const used = access.value?.token;
  if (!used) return null;
  const workspaces = used.workspaces?.join(', ') ?? `all of the tenant ${used.tenant}`;
  return (
    <span class="hint" title={`The permissions of the token. Workspaces: ${workspaces}`}>
      {used.permissions.join(', ')}
    </span>
  );
}

/** A field that opens a sandbox by its id, or a workspace by its name. The start page lists only the recent sandboxes. */
function Open({ tenant }: { tenant: string }) {
  const [text, setText] = useState('');
  const submit = (event: Event) => {
    event.preventDefault();
    if (text.trim() === '') return;
    go(placeOf(text.trim(), tenant));
    setText('');
  };
  return (
    <form class="open" role="search" aria-label="Sandboxes and workspaces" onSubmit={submit}>
      <input
        type="search"
        aria-label="Sandbox id, or @name of a workspace"
        placeholder="Sandbox or @name"
        spellcheck={false}
        autocomplete="off"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
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
