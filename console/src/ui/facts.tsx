// Lists of named facts.

import type { ComponentChildren } from 'preact';

import { now } from '../clock.ts';
import { dateTime, relativeTime } from '../format.ts';

/** A list of facts. */
export function Facts({ children }: { children: ComponentChildren }) {
  return <dl class="facts">{children}</dl>;
}

/** A fact. Renders nothing if it has no content. */
export function Fact({ name, children }: { name: string; children?: ComponentChildren }) {
  if (children === undefined || children === null || children === false || children === '') return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** A time relative to now, with the date and time as a tooltip. */
export function Time({ at }: { at: string }) {
  return (
    <time dateTime={at} title={dateTime(at)}>
      {relativeTime(at, now.value)}
    </time>
  );
}

/** A date and time, followed by the time relative to now. */
export function Moment({ at }: { at: string | undefined }) {
  if (at === undefined) return null;
  return (
    <>
      <time dateTime={at}>{dateTime(at)}</time> <span class="hint">{relativeTime(at, now.value)}</span>
    </>
  );
}
