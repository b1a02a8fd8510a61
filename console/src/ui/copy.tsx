// Buttons that copy.

import { useState } from 'preact/hooks';

import { announce } from './notice.tsx';
import { Icon } from './icons.tsx';

/** Copies a text; `what` says which. */
export function Copy({ text, what }: { text: string; what: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      announce(`The ${what} was copied.`);
    } catch {
      announce(`The browser did not let the ${what} be copied.`);
    }
  };
  return (
    <button
      type="button"
      class="copy"
      aria-label={`Copy the ${what}`}
      onClick={copy}
      onBlur={() => setCopied(false)}
    >
      <Icon name={copied ? 'check' : 'copy'} />
    </button>
  );
}

/** An id, which can be copied. */
export function Id({ of, what }: { of: string; what: string }) {
  return (
    <span class="id">
      <code>{of}</code>
      <Copy text={of} what={what} />
    </span>
  );
}
