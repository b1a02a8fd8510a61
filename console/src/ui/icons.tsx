// Icons. They are hidden from screen readers, because a text is always next to them.

import type { JSX } from 'preact';

const PATHS = {
  add: 'M8 3v10M3 8h10',
  back: 'M10 3 5 8l5 5',
  branch: 'M5 3v10M5 9c0-3 6-1 6-5M5 3h0M11 4h0',
  camera: 'M2 5h3l1-2h4l1 2h3v8H2zM8 11a2.2 2.2 0 1 0 0-4.4A2.2 2.2 0 0 0 8 11z',
  check: 'm3 8.5 3.2 3.2L13 4.8',
  chevron: 'm6 4 4 4-4 4',
  close: 'm4 4 8 8M12 4l-8 8',
  copy: 'M6 6h7v7H6zM3 10V3h7',
  cross: 'm4 4 8 8M12 4l-8 8',
  dash: 'M4 8h8',
  current:
    'M8 14s4.500-4.200 4.500-7.500a4.500 4.500 0 0 0-9 0C3.500 9.800 8 14 8 14zM8 8.200a1.700 1.700 0 1 0 0-3.400 1.700 1.700 0 0 0 0 3.400z',
  dependent:
    'M6 9 4.5 10.5a2 2 0 0 1-3-3L4 5a2 2 0 0 1 3 0M10 7l1.5-1.5a2 2 0 0 1 3 3L12 11a2 2 0 0 1-3 0M6 8h4',
  moon: 'M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5z',
  pin: 'M6 2h4l-.5 4.5L12 9H4l2.500-2.500zM8 9v5',
  refresh: 'M13 8a5 5 0 1 1-1.5-3.500M13 2.500V5h-2.500',
  restore: 'M3 8a5 5 0 1 0 1.500-3.500M3 2.500V5h2.500',
  screen: 'M2 3h12v8H2zM6 14h4',
  sun: 'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1v1.500M8 13.500V15M1 8h1.500M13.500 8H15',
  time: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 5v3l2 1.500',
  trash: 'M3 4.500h10M6.500 4.500V3h3v1.500M4.500 4.500 5 13h6l.5-8.500',
  workspace: 'M2 12.500v-9h4l1.500 2H14v7z',
  warning: 'M8 2.500 14.500 13.500h-13zM8 6.500v3.500M8 11.800v.2',
} as const;

/** The name of an icon. */
export type IconName = keyof typeof PATHS;

/** An icon. */
export function Icon({ name }: { name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
