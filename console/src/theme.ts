// Light or dark: as the system has it, unless somebody chose.

import { effect, signal } from '@preact/signals';

/** What can be chosen. */
export const THEMES = ['system', 'light', 'dark'] as const;

/** A choice. */
export type Theme = (typeof THEMES)[number];

const KEPT = 'snapshotter-theme';

/** The choice, which the browser keeps. */
export const theme = signal<Theme>(known(stored(() => localStorage.getItem(KEPT))));

effect(() => {
  const chosen = theme.value;
  document.documentElement.dataset['theme'] = chosen;
  stored(() => localStorage.setItem(KEPT, chosen));
});

function known(name: string | null | undefined): Theme {
  return THEMES.find((theme) => theme === name) ?? 'system';
}

/** What the storage does; undefined where the browser forbids it. */
function stored<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
