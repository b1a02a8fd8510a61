// What was done, told to everybody: in a bar that stays until it is dismissed, and read out by screen readers.

import { signal } from '@preact/signals';

import { Icon } from './icons.tsx';

const said = signal('');

/** Says what was done. */
export function announce(text: string) {
  said.value = text;
}

/** The bar. It is there while it is empty too: what appears together with its region is not read out. */
export function Notice() {
  const text = said.value;
  return (
    <div class="notice" role="status" data-empty={text === ''}>
      {text && (
        <>
          <span>{text}</span>
          <button type="button" class="copy" aria-label="Dismiss" onClick={() => announce('')}>
            <Icon name="close" />
          </button>
        </>
      )}
    </div>
  );
}
