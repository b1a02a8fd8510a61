// Badges: an icon and a word, never only a color.

import type { ComponentChildren } from 'preact';

import type { WorkspaceState } from '../../../client/src/index.ts';
import { Icon, type IconName } from './icons.tsx';

/** The meaning of a badge, which sets its color. */
export type Tone = 'good' | 'busy' | 'bad' | 'accent' | 'plain';

/** The content of a badge. */
export interface BadgeProps {
  tone?: Tone;
  icon?: IconName | 'on' | 'off';
  /** The full text, as a tooltip. */
  title?: string;
  children: ComponentChildren;
}

/** A badge. */
export function Badge({ tone = 'plain', icon, title, children }: BadgeProps) {
  return (
    <span class={`badge ${tone}`} title={title}>
      {icon === 'on' || icon === 'off' ? <span class={`lamp ${icon}`} /> : icon && <Icon name={icon} />}
      {children}
    </span>
  );
}

const STATES: Record<WorkspaceState, [Tone, IconName | 'on' | 'off']> = {
  provisioning: ['busy', 'time'],
  active: ['good', 'on'],
  stopping: ['busy', 'time'],
  stopped: ['plain', 'off'],
  restoring: ['busy', 'time'],
  failed: ['bad', 'warning'],
  deleted: ['plain', 'trash'],
};

/** The state of a named workspace. `containerEnded` is whether its container ended without a stop: it is not active then. */
export function StateBadge({
  state,
  containerEnded,
}: {
  state: WorkspaceState;
  containerEnded: boolean | undefined;
}) {
  if (state === 'active' && containerEnded)
    return (
      <Badge tone="bad" icon="warning" title="The container of this active workspace ended without a stop">
        container ended
      </Badge>
    );
  const [tone, icon] = STATES[state];
  return (
    <Badge tone={tone} icon={icon}>
      {state}
    </Badge>
  );
}
