// What was done, told to everybody: in a bar that stays until it is dismissed, and read out by screen readers.

import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';

import { href, place, type Place } from '../routes.ts';
import { asking } from './dialog-focus.ts';
import { Icon } from './icons.tsx';

const said = signal<{ text?: ComponentChildren; to?: Place | undefined }>({});

/** Says what was done, in a line; with a link to where it is seen. */
export function announce(text?: ComponentChildren, to?: Place) {
  said.value = { text, to };
}

/**
 * The bar. It is there while it is empty too: what appears together with its region is not read out. While a dialog is open,
 * the page behind it is out of reach, and the dialog has the bar.
 */
export function Notice({ isInDialog = false }: { isInDialog?: boolean }) {
  const { text, to } = asking.value > 0 === isInDialog ? said.value : {};
  return (
    <div class="notice" role="status" data-empty={!text}>
      {text && (
        <>
          <span>
            {text}
            {to && href(to) !== href(place.value) && (
              <>
                {' '}
                <a href={href(to)}>Show it</a>
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
