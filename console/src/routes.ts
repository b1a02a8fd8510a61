// Where somebody is in the console, as it stands behind the `#` of its address. Never more than names and ids.

import { signal } from '@preact/signals';

/** A node of a lineage: a sandbox, or one of its snapshots. */
export interface Selected {
  sandboxId: string;
  snapshotId?: string;
}

/** A part of what is shown of a sandbox. */
export type Tab = 'checkpoints' | 'retention';

/** What is shown beside a lineage. */
export interface Beside {
  selected?: Selected;
  tab?: Tab;
}

/** A workspace, whole. */
export interface Address {
  tenant: string;
  name: string;
}

/** A place in the console. */
export type Place =
  | { at: 'workspaces'; tenant: string; prefix?: string; after?: string }
  | ({ at: 'workspace' } & Address & Beside)
  | ({ at: 'sandbox'; sandboxId: string } & Beside);

/** Whose workspaces those are where nobody names a tenant. */
export const DEFAULT_TENANT = 'default';

const HOME: Place = { at: 'workspaces', tenant: DEFAULT_TENANT };

/** The present place. */
export const place = signal(read(location.hash));

addEventListener('hashchange', () => {
  place.value = read(location.hash);
});

/** Goes to a place. The browser's button goes back. */
export function go(to: Place) {
  location.hash = href(to);
  place.value = to;
}

/** The address of a place. */
export function href(to: Place): string {
  const query = new URLSearchParams();
  const say = (name: string, value: string | undefined) => value && query.set(name, value);
  if (to.at === 'workspaces') {
    say('prefix', to.prefix);
    say('after', to.after);
  } else {
    say('sandbox', to.selected?.sandboxId);
    say('snapshot', to.selected?.snapshotId);
    say('tab', to.tab);
  }
  const path = steps(to).map(encodeURIComponent).join('/');
  return `#/${path}${query.size > 0 ? `?${query}` : ''}`;
}

function steps(to: Place): string[] {
  if (to.at === 'workspaces') return ['workspaces', to.tenant];
  return to.at === 'workspace' ? ['workspaces', to.tenant, to.name] : ['sandboxes', to.sandboxId];
}

/** The place of an address; the first one where it is none. */
export function read(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const said = new URLSearchParams(query);
  const value = <K extends string>(key: K, name: string) => {
    const text = said.get(name);
    return (text ? { [key]: text } : {}) as Partial<Record<K, string>>;
  };
  const [kind, first, second] = decoded(path);
  if (kind === 'workspaces' && first) {
    if (second) return { at: 'workspace', tenant: first, name: second, ...beside(said) };
    return { at: 'workspaces', tenant: first, ...value('prefix', 'prefix'), ...value('after', 'after') };
  }
  return kind === 'sandboxes' && first ? { at: 'sandbox', sandboxId: first, ...beside(said) } : HOME;
}

function beside(said: URLSearchParams): Beside {
  const sandboxId = said.get('sandbox');
  const snapshotId = said.get('snapshot');
  const tab = said.get('tab');
  return {
    ...(sandboxId ? { selected: { sandboxId, ...(snapshotId ? { snapshotId } : {}) } } : {}),
    ...(tab === 'checkpoints' || tab === 'retention' ? { tab } : {}),
  };
}

function decoded(path: string): string[] {
  try {
    return path.split('/').map(decodeURIComponent);
  } catch {
    return []; // Somebody typed a stray percent sign.
  }
}
