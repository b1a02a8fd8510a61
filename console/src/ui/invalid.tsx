// Errors of invalid fields, next to the fields instead of in the browser's bubble, which covers other texts.

import type { JSX, TargetedEvent } from 'preact';
import { useState } from 'preact/hooks';

type Control = HTMLInputElement | HTMLSelectElement;

/** The error of a field, and the attributes of its control. */
interface Invalid {
  error: JSX.Element | null;
  attributes: {
    'aria-invalid': 'true' | undefined;
    'aria-describedby': string | undefined;
    onInvalid: (event: TargetedEvent<Control>) => void;
  };
  /** Removes the error of a value that is valid now. Called at each change. */
  check: (control: Control) => void;
}

/**
 * Shows why the browser refuses the value of a field, and moves the focus to the first such field of the form.
 *
 * @param id The id of the field, from which those of its texts are derived.
 * @param pattern Says what a value must be that does not match the pattern.
 */
export function useInvalid(id: string, hasHint: boolean, pattern?: string): Invalid {
  const [message, setMessage] = useState('');
  const describedBy = [message && `${id}-error`, hasHint && `${id}-hint`].filter(Boolean).join(' ');
  const onInvalid = (event: TargetedEvent<Control>) => {
    event.preventDefault();
    const control = event.currentTarget;
    setMessage(control.validity.patternMismatch && pattern ? pattern : control.validationMessage);
    if (control.form?.querySelector(':is(input, select, textarea):invalid') === control) control.focus();
  };
  return {
    error: message ? (
      <p class="error" id={`${id}-error`} role="alert">
        {message}
      </p>
    ) : null,
    attributes: {
      'aria-invalid': message ? 'true' : undefined,
      'aria-describedby': describedBy || undefined,
      onInvalid,
    },
    check: ({ validity }) => validity.valid && setMessage(''),
  };
}
