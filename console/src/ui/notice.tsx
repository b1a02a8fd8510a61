// The notice of the last outcome: a bar that screen readers read. It leaves after a time, with the next action, and when the user
// goes to another page.

import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

import { href, pageOf, place, type Place } from '../routes.ts';
import { openDialogs } from './dialog-focus.ts';
import { Icon } from './icons.tsx';

/** The seconds after which a notice leaves. They do not count while the user points at it, or the page is hidden. */
const SHOWN_SECONDS = 20;

/** How a notice is shown. */
interface NoticeOptions {
  /** A page that the notice links to. */
  to?: Place | undefined;
  /** The page that the notice belongs to; the present one if absent. */
  page?: Place | undefined;
  /** Whether it warns, and so does not leave by time. */
  isWarning?: boolean | undefined;
}

interface Shown extends NoticeOptions {
  text?: ComponentChildren;
}

const NONE: Shown = {};
const notice = signal(NONE);

/** Shows a notice. Without arguments, removes the notice. */
export function announce(text?: ComponentChildren, { page = place.peek(), ...rest }: NoticeOptions = {}) {
  notice.value = { text, page, ...rest };
}

/** Removes a notice that does not belong to the present page. */
export function removeNoticeOfOtherPage() {
  const { page } = notice.peek();
  if (page && href(pageOf(page)) !== href(pageOf(place.peek()))) announce();
}

/**
 * The bar. It is rendered while it is empty too: screen readers do not read a text that appears together with its live region.
 * While a dialog is open, the page behind it is inert, so the dialog shows the notice.
 */
export function Notice({ isInDialog = false }: { isInDialog?: boolean }) {
  const shown = openDialogs.value > 0 === isInDialog ? notice.value : NONE;
  const { text, to, isWarning } = shown;
  const bar = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!text || isWarning) return;
    let left = SHOWN_SECONDS;
    const timer = setInterval(() => {
      if (document.hidden || bar.current?.matches(':hover, :focus-within')) return;
      left -= 1;
      if (left === 0) announce();
    }, 1000);
    return () => clearInterval(timer);
  }, [shown]);
  return (
    <div ref={bar} class="notice" role="status" data-empty={!text}>
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
