// Buttons that copy to the clipboard.

import { useState } from 'preact/hooks';

import { announce } from './notice.tsx';
import { Icon } from './icons.tsx';

/** A button that copies a text; `what` is its name. */
export function Copy({ text, what }: { text: string; what: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      announce(`The ${what} was copied.`);
    } catch {
      announce(`The browser refused to copy the ${what}.`, { isWarning: true });
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

/** An id with a button that copies it. */
export function Id({ of, what }: { of: string; what: string }) {
  return (
    <span class="id">
      <code>{of}</code>
      <Copy text={of} what={what} />
    </span>
  );
}
