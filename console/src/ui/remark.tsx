// Remarks: a warning icon and a sentence.

import type { ComponentChildren } from 'preact';

import { Icon } from './icons.tsx';

/** A remark. Screen readers read it when it appears, with the urgency of its `role`. */
export function Remark({ role, children }: { role?: 'alert' | 'status'; children: ComponentChildren }) {
  return (
    <p class="remark" role={role}>
      <Icon name="warning" />
      <span>{children}</span>
    </p>
  );
}
