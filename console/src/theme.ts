// The color theme: light, dark, or that of the system.

import { effect, signal } from '@preact/signals';

import { tryStorage } from './storage.ts';

/** The themes that the user can choose. */
export const THEMES = ['system', 'light', 'dark'] as const;

/** A theme. */
export type Theme = (typeof THEMES)[number];

const STORAGE_KEY = 'snapshotter-theme';

/** The chosen theme. The browser stores it. */
export const theme = signal<Theme>(parse(tryStorage(() => localStorage.getItem(STORAGE_KEY))));

effect(() => {
  const chosen = theme.value;
  document.documentElement.dataset['theme'] = chosen;
  tryStorage(() => localStorage.setItem(STORAGE_KEY, chosen));
});

function parse(name: string | null | undefined): Theme {
  return THEMES.find((theme) => theme === name) ?? 'system';
}
