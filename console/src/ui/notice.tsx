// The notice of the last outcome: a bar that stays until it is dismissed, and that screen readers read.

import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';

import { href, place, type Place } from '../routes.ts';
import { openDialogs } from './dialog-focus.ts';
import { Icon } from './icons.tsx';

const notice = signal<{ text?: ComponentChildren; to?: Place | undefined }>({});

/** Shows a notice, with a link to `to`. Without arguments, removes the notice. */
export function announce(text?: ComponentChildren, to?: Place) {
  notice.value = { text, to };
}

/**
 * The bar. It is rendered while it is empty too: screen readers do not read a text that appears together with its live region.
 * While a dialog is open, the page behind it is inert, so the dialog shows the notice.
 */
export function Notice({ isInDialog = false }: { isInDialog?: boolean }) {
  const { text, to } = openDialogs.value > 0 === isInDialog ? notice.value : {};
  return (
    <div class="notice" role="status" data-empty={!text}>
      {text && (
        <>
          <span>
            {text}
            {to && href(to) !== href(place.value) && (
              <>
                {' '}
                <a href={href(to)}>Show</a>
              </>
            )}
          </span>
          <button type="button" class="copy" aria-label="Dismiss" onClick={() => announce()}>
            <Icon name="close" />
          </button>
        </>
      )}
    </div>
  );
}
