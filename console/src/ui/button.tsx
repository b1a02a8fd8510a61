// Buttons.

import type { ComponentChildren, JSX } from 'preact';

import { Icon, type IconName } from './icons.tsx';
import { announce } from './notice.tsx';

/** How a button looks and what it does. */
export interface ButtonProps {
  children: ComponentChildren;
  icon?: IconName;
  /** `plain` where absent. */
  look?: 'primary' | 'danger' | 'quiet' | 'plain';
  /** Whether what it began is under way. */
  busy?: boolean;
  disabled?: boolean;
  /** What it is called, where its text alone does not say. */
  label?: string;
  /** The button of a form where there is nothing to be done on a click. */
  onClick?: () => void;
}

/**
 * A button. While its work is under way it is disabled, by ARIA: a button that is disabled otherwise loses the focus, and who
 * uses the keyboard their place.
 */
export function Button({
  children,
  icon,
  look = 'plain',
  busy,
  disabled,
  label,
  onClick,
}: ButtonProps): JSX.Element {
  const isDisabled = busy || disabled;
  const click = (event: Event) => {
    if (isDisabled) return event.preventDefault();
    announce(); // What was told of the last thing is over.
    onClick?.();
  };
  return (
    <button
      type={onClick ? 'button' : 'submit'}
      class={`button ${look}`}
      aria-disabled={isDisabled ? 'true' : undefined}
      aria-busy={busy ? 'true' : undefined}
      aria-label={label}
      onClick={click}
    >
      {busy ? <span class="spinner" aria-hidden="true" /> : icon && <Icon name={icon} />}
      <span>{children}</span>
    </button>
  );
}
