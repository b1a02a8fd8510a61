// The sandboxes that the user opened lately. No operation lists sandboxes, so the browser keeps the list, for each origin.

import { signal } from '@preact/signals';

import { now } from './clock.ts';
import { tryStorage } from './storage.ts';

/** A sandbox that the user opened. */
export interface RecentSandbox {
  sandboxId: string;
  /** When the user last opened it. */
  openedAt: string;
}

const STORAGE_KEY = 'snapshotter-recent-sandboxes';

/** The length of the list. */
const LIMIT = 10;

/** The list, the latest first. */
export const recentSandboxes = signal(parse(tryStorage(() => localStorage.getItem(STORAGE_KEY))));

// Another tab of the browser changed the list.
addEventListener('storage', ({ key, newValue }) => {
  if (key === STORAGE_KEY) recentSandboxes.value = parse(newValue);
});

/** Puts a sandbox at the top of the list. */
export function addRecent(sandboxId: string) {
  const others = recentSandboxes.peek().filter((recent) => recent.sandboxId !== sandboxId);
  store([{ sandboxId, openedAt: new Date(now.peek()).toISOString() }, ...others].slice(0, LIMIT));
}

/** Empties the list. */
export function clearRecent() {
  store([]);
}

function store(list: RecentSandbox[]) {
  recentSandboxes.value = list;
  tryStorage(() => localStorage.setItem(STORAGE_KEY, JSON.stringify(list)));
}

/** Returns the stored list, without entries that are not of this format. */
function parse(text: string | null | undefined): RecentSandbox[] {
  const stored: unknown = tryStorage(() => JSON.parse(text ?? '[]'));
  if (!Array.isArray(stored)) return [];
  return stored.filter((entry) => typeof entry?.sandboxId === 'string' && typeof entry.openedAt === 'string');
}
