// The pages of the console, and their addresses: the part of the URL after `#`. Addresses contain only names and ids.

import { signal } from '@preact/signals';

/** A node of a lineage: a sandbox, or one of its snapshots. */
export interface Selected {
  sandboxId: string;
  snapshotId?: string;
}

/** A tab of a sandbox's details. */
export type Tab = 'checkpoints' | 'retention';

/** What the details next to a lineage show. */
export interface DetailsParams {
  selected?: Selected;
  tab?: Tab;
}

/** The address of a workspace. */
export interface Address {
  tenant: string;
  name: string;
}

/** A page of the console. */
export type Place =
  | { at: 'workspaces'; tenant: string; prefix?: string; after?: string }
  | { at: 'usage'; tenant: string }
  | { at: 'tokens'; tenant: string }
  | ({ at: 'workspace' } & Address & DetailsParams)
  | ({ at: 'work'; path?: string } & Address)
  | ({ at: 'sandbox'; sandboxId: string } & DetailsParams)
  | ({ at: 'files'; path?: string } & Required<Selected>)
  | { at: 'diff'; from: Required<Selected>; to: Selected }
  | { at: 'unknown'; address: string };

/** The tenant of an address that names none. */
export const DEFAULT_TENANT = 'default';

const HOME: Place = { at: 'workspaces', tenant: DEFAULT_TENANT };

/** The present page. */
export const place = signal(parse(location.hash));

addEventListener('hashchange', () => {
  place.value = parse(location.hash);
});

/** Goes to a page. Adds an entry to the browser's history. */
export function go(to: Place) {
  location.hash = href(to);
  place.value = to;
}

/** Returns the address of a page. */
export function href(to: Place): string {
  if (to.at === 'unknown') return to.address;
  const query = new URLSearchParams();
  const set = (name: string, value: string | undefined) => value && query.set(name, value);
  if (to.at === 'workspaces') {
    set('prefix', to.prefix);
    set('after', to.after);
  } else if (to.at === 'files' || to.at === 'work') {
    set('path', to.path);
  } else if (to.at === 'workspace' || to.at === 'sandbox') {
    set('sandbox', to.selected?.sandboxId);
    set('snapshot', to.selected?.snapshotId);
    set('tab', to.tab);
  }
  const path = segments(to).map(encodeURIComponent).join('/');
  return `#/${path}${query.size > 0 ? `?${query}` : ''}`;
}

/** Returns the page without its details: a selection within a page leads to no other page. */
export function pageOf(to: Place): Place {
  switch (to.at) {
    case 'workspaces':
      return { at: 'workspaces', tenant: to.tenant };
    case 'workspace':
      return { at: 'workspace', tenant: to.tenant, name: to.name };
    case 'work':
      return { at: 'work', tenant: to.tenant, name: to.name };
    case 'sandbox':
      return { at: 'sandbox', sandboxId: to.sandboxId };
    case 'usage':
    case 'tokens':
    case 'files':
    case 'diff':
    case 'unknown':
      return to;
  }
}

const idsOf = ({ sandboxId, snapshotId }: Selected) => (snapshotId ? [sandboxId, snapshotId] : [sandboxId]);

function segments(to: Exclude<Place, { at: 'unknown' }>): string[] {
  if (to.at === 'workspaces' || to.at === 'usage' || to.at === 'tokens') return [to.at, to.tenant];
  if (to.at === 'files') return ['files', to.sandboxId, to.snapshotId];
  if (to.at === 'diff') return ['diff', ...idsOf(to.from), ...idsOf(to.to)];
  if (to.at === 'work') return ['workspaces', to.tenant, to.name, 'files'];
  return to.at === 'workspace' ? ['workspaces', to.tenant, to.name] : ['sandboxes', to.sandboxId];
}

/**
 * Returns the page that a text names: `@name` or `@tenant/name` for a workspace, as on the command line, or else the id of a
 * sandbox.
 */
export function placeOf(text: string, presentTenant: string): Place {
  if (!text.startsWith('@')) return { at: 'sandbox', sandboxId: text };
  const [first = '', second] = text.slice(1).split('/');
  return second === undefined
    ? { at: 'workspace', tenant: presentTenant, name: first }
    : { at: 'workspace', tenant: first, name: second };
}

/** Returns the page of an address; the list of workspaces if the address names none. */
export function parse(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const params = new URLSearchParams(query);
  const value = <K extends string>(key: K, name: string) => {
    const text = params.get(name);
    return (text ? { [key]: text } : {}) as Partial<Record<K, string>>;
  };
  const [kind, first, second, third, fourth] = decoded(path);
  if (kind === 'workspaces' && first) {
    if (second && third === 'files')
      return { at: 'work', tenant: first, name: second, ...value('path', 'path') };
    if (second) return { at: 'workspace', tenant: first, name: second, ...detailsOf(params) };
    return { at: 'workspaces', tenant: first, ...value('prefix', 'prefix'), ...value('after', 'after') };
  }
  if ((kind === 'usage' || kind === 'tokens') && first) return { at: kind, tenant: first };
  if (kind === 'files' && first && second)
    return { at: 'files', sandboxId: first, snapshotId: second, ...value('path', 'path') };
  if (kind === 'diff' && first && second && third) {
    const from = { sandboxId: first, snapshotId: second };
    return { at: 'diff', from, to: { sandboxId: third, ...(fourth && { snapshotId: fourth }) } };
  }
  if (kind === 'sandboxes' && first) return { at: 'sandbox', sandboxId: first, ...detailsOf(params) };
  const isHome = !hash.startsWith('#/') || path === '' || path === 'workspaces' || path === 'workspaces/';
  return isHome ? HOME : { at: 'unknown', address: hash };
}

function detailsOf(params: URLSearchParams): DetailsParams {
  const sandboxId = params.get('sandbox');
  const snapshotId = params.get('snapshot');
  const tab = params.get('tab');
  return {
    ...(sandboxId ? { selected: { sandboxId, ...(snapshotId ? { snapshotId } : {}) } } : {}),
    ...(tab === 'checkpoints' || tab === 'retention' ? { tab } : {}),
  };
}

function decoded(path: string): string[] {
  try {
    return path.split('/').map(decodeURIComponent);
  } catch {
    return []; // The address contains an invalid percent escape.
  }
}
