// Buttons.

import type { ComponentChildren, JSX } from 'preact';

import type { OperationName } from '../../../client/src/index.ts';
import { permits } from '../permissions.ts';
import { Icon, type IconName } from './icons.tsx';
import { announce } from './notice.tsx';

/** The properties of a button. */
export interface ButtonProps {
  children: ComponentChildren;
  icon?: IconName;
  /** `plain` if absent. */
  variant?: 'primary' | 'danger' | 'quiet' | 'plain';
  /** Whether its action is in progress. */
  busy?: boolean;
  disabled?: boolean;
  /** The accessible name, if the text alone is ambiguous. */
  label?: string;
  /** The operation that the button leads to. Without the permission for it, there is no button. */
  needs?: OperationName;
  /** A tooltip. */
  title?: string | undefined;
  /** Called on a click. If absent, the button submits its form. */
  onClick?: () => void;
}

/**
 * A button. It is disabled by `aria-disabled` while its action is in progress: the `disabled` attribute would remove the
 * keyboard focus.
 */
export function Button({
  children,
  icon,
  variant = 'plain',
  busy,
  disabled,
  label,
  needs,
  title,
  onClick,
}: ButtonProps): JSX.Element | null {
  if (needs && !permits(needs)) return null;
  const isDisabled = busy || disabled;
  const click = (event: Event) => {
    if (isDisabled) return event.preventDefault();
    announce(); // Removes the notice of the last action.
    onClick?.();
  };
  return (
    <button
      type={onClick ? 'button' : 'submit'}
      class={`button ${variant}`}
      aria-disabled={isDisabled ? 'true' : undefined}
      aria-busy={busy ? 'true' : undefined}
      aria-label={label}
      title={title}
      onClick={click}
    >
      {busy ? <span class="spinner" aria-hidden="true" /> : icon && <Icon name={icon} />}
      <span>{children}</span>
    </button>
  );
}
